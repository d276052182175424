import type { Tensor } from "@mp/graph";
import { add, div, greater, less, literal, mul, sub, where } from "@mp/graph/ops";

/**
 * Finds the largest power of two that is at most x (f32 ≥ 0, any shape), or the one after it, and lets `adjust` correct
 * it: the sum x + 2^23 · x has room for one significant bit of x. Products are by powers of two, so an engine that fuses
 * them with the sum gets the same bits; a logarithm would be wrong near powers of two.
 */
function fromNearby(x: Tensor, adjust: (near: Tensor, x: Tensor) => Tensor): Tensor {
  // Keeps 2^23 · x finite.
  const unit = where(greater(x, 1), literal(2 ** -64), 1);
  const own = mul(x, unit);
  const high = mul(own, 2 ** 23);
  return div(adjust(sub(add(high, own), high), own), unit);
}

/** The largest power of two that is at most x (f32 ≥ 0, any shape): 0 for 0, NaN for ∞ and NaN. */
export function floorPowerOfTwo(x: Tensor): Tensor {
  return fromNearby(x, (near, own) => where(greater(near, own), mul(near, 0.5), near));
}

/** The smallest power of two that is at least x (f32 ≥ 0, any shape): 0 for 0, NaN for ∞ and NaN. */
export function ceilPowerOfTwo(x: Tensor): Tensor {
  return fromNearby(x, (near, own) => where(less(near, own), mul(near, 2), near));
}
