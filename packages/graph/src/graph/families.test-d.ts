import { expectTypeOf, it } from "vitest";
import type { Op } from "./attributes.js";
import type { Family, OpOf } from "./families.js";

it("every operator is in a family, and a family has only operators", () => {
  expectTypeOf<OpOf<Family>>().toEqualTypeOf<Op>();
});

it("no operator is in two families", () => {
  type Twice = { [F in Family]: Extract<OpOf<F>, OpOf<Exclude<Family, F>>> }[Family];
  expectTypeOf<Twice>().toEqualTypeOf<never>();
});
