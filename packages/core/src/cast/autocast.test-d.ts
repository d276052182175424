import type { Tensor } from "@mp/graph";
import { expectTypeOf, it } from "vitest";
import { autocast } from "./autocast.js";
import { mixedFloat16Policy } from "./policy.js";

it("gives a function of the same type", () => {
  const loss = (parameters: { readonly w: Tensor }, batch: readonly Tensor[], training: boolean) =>
    training ? { loss: parameters.w, metrics: { first: batch[0] as Tensor } } : { loss: parameters.w };
  expectTypeOf(autocast(loss, mixedFloat16Policy)).toEqualTypeOf<typeof loss>();
  // @ts-expect-error a policy is a value, not a string
  autocast(loss, "mixed_float16");
});
