// How far a float16 product is from the exact one, rounded once.
import { roundTo } from "@mp/core/graph";
import type { Operands } from "./operands.js";

/** The exact product, in float64, which keeps every bit that matters here. */
export function exactProduct({ side, inner, a, b, isTransposedA, isTransposedB }: Operands): Float64Array {
  const product = new Float64Array(side * side);
  for (let row = 0; row < side; row++)
    for (let column = 0; column < side; column++) {
      let sum = 0;
      for (let k = 0; k < inner; k++) {
        const x = a[isTransposedA ? k * side + row : row * inner + k] as number;
        const y = b[isTransposedB ? column * inner + k : k * side + column] as number;
        sum += x * y;
      }
      product[row * side + column] = sum;
    }
  return product;
}

/** The largest difference, divided by the exact root mean square and by 2^-11 (half a float16 step at 1). */
export function relativeLoss(got: Float32Array, exact: Float64Array): number {
  const size = Math.sqrt(exact.reduce((sum, x) => sum + x * x, 0) / exact.length);
  let most = 0;
  got.forEach((x, index) => {
    const difference = Math.abs(x - roundTo("f16", exact[index] as number));
    most = Number.isFinite(difference) ? Math.max(most, difference) : Number.POSITIVE_INFINITY;
  });
  return (most / size) * 2 ** 11;
}
