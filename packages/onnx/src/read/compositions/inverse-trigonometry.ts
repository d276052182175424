// The inverses of sine, cosine and tangent. Angles are halved until a short series is exact to f32.
import type { Tensor } from "@mp/graph";
import { abs, add, div, greater, maximum, mul, neg, sqrt, square, sub, where } from "@mp/graph/ops";

/** Returns the tangent of half the angle whose tangent is x: atan x = 2 atan(x / (1 + √(1 + x²))). */
const halveAngle = (x: Tensor): Tensor => div(x, add(sqrt(add(square(x), 1)), 1));

/** The arctangent's series x - x³/3 + x⁵/5 …, for |x| below 0.2. */
function series(x: Tensor): Tensor {
  const squared = square(x);
  const terms = [1 / 9, 1 / 7, 1 / 5, 1 / 3, 1];
  const [first = 0, ...others] = terms;
  let sum: Tensor | undefined;
  for (const term of others) sum = sub(term, mul(squared, sum ?? first));
  return mul(x, sum as Tensor);
}

/** The arctangent of numbers ≥ 0; infinity gives π / 2. */
function ofMagnitude(x: Tensor): Tensor {
  const isLarge = greater(x, 1);
  // Where the quotient is not selected, it divides by 1, so that its gradient is finite.
  const small = where(isLarge, div(1, maximum(x, 1)), x);
  const angle = mul(series(halveAngle(halveAngle(small))), 4);
  return where(isLarge, sub(Math.PI / 2, angle), angle);
}

export const atan = (x: Tensor): Tensor => {
  const angle = ofMagnitude(abs(x));
  return where(greater(0, x), neg(angle), angle);
};

export const asin = (x: Tensor): Tensor => mul(atan(div(x, add(sqrt(sub(1, square(x))), 1))), 2);

/** 2 atan(√(1 - x) / √(1 + x)), because π / 2 - asin x cancels near 1. */
export const acos = (x: Tensor): Tensor => mul(ofMagnitude(div(sqrt(sub(1, x)), sqrt(add(x, 1)))), 2);
