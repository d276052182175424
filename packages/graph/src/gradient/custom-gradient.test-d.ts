import { expectTypeOf, it } from "vitest";
import type { Tensor } from "../trace/tensor.js";
import { customGradient } from "./custom-gradient.js";

it("infers what the rule gets and gives", () => {
  const plain = customGradient(
    (x: Tensor, weights: { readonly w: Tensor }) => ({ y: x, z: weights.w }),
    ({ inputs, result }, cotangents) => {
      expectTypeOf(inputs).toEqualTypeOf<[x: Tensor, weights: { readonly w: Tensor }]>();
      expectTypeOf(result).toEqualTypeOf<{ y: Tensor; z: Tensor }>();
      expectTypeOf(cotangents).toEqualTypeOf<{ y: Tensor; z: Tensor }>();
      return [cotangents.y, { w: cotangents.z }];
    },
  );
  expectTypeOf(plain).toEqualTypeOf<
    (x: Tensor, weights: { readonly w: Tensor }) => { y: Tensor; z: Tensor }
  >();
  const kept = customGradient(
    (x: Tensor) => [x, { square: x }],
    ({ residuals }, cotangent) => {
      expectTypeOf(residuals).toEqualTypeOf<{ square: Tensor }>();
      expectTypeOf(cotangent).toEqualTypeOf<Tensor>();
      return [undefined];
    },
    { hasResiduals: true },
  );
  expectTypeOf(kept).toEqualTypeOf<(x: Tensor) => Tensor>();
  customGradient(
    (x: Tensor) => x,
    // @ts-expect-error one cotangent for each input
    (_, g) => [g, g],
  );
  customGradient(
    (x: Tensor) => x,
    // @ts-expect-error there are no residuals without hasResiduals
    ({ residuals }, g) => [residuals ?? g],
  );
});
