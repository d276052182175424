import { isFloat } from "../../dtype.js";
import { type TensorTree, tensorsOf } from "../map-tensors.js";
import type { Tensor } from "../tensor.js";
import { add, equal, mul } from "./binary.js";
import { reduceSum } from "./reduce.js";
import { literal } from "./source.js";
import { cast } from "./unary.js";

/**
 * 0 if every element is finite, otherwise NaN. Computed as the sum of x · 0, which is exact and takes one pass. A
 * comparison with the maximum would not work, because some engines' ReduceMax drops NaN.
 */
export function poison(x: Tensor): Tensor {
  return reduceSum(mul(cast(x, "f32"), 0));
}

/** The sum of `poison` over all floating tensors of a tree; f32 scalar. */
export function poisonOf(tree: TensorTree): Tensor {
  const parts = tensorsOf(tree)
    .filter((tensor) => isFloat(tensor.dtype))
    .map(poison);
  return parts.length === 0 ? literal(0) : parts.reduce((sum, part) => add(sum, part));
}

/** Whether all elements of all floating tensors of the tree are finite; bool scalar. */
export function allFinite(tree: TensorTree): Tensor {
  return equal(poisonOf(tree), 0);
}
