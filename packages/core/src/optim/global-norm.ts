import { type TensorTree, tensorsOf } from "../trace/map-tensors.js";
import { add, literal, sqrt } from "../trace/ops/elementwise.js";
import { reduceSumSquare } from "../trace/ops/reduce.js";
import type { Tensor } from "../trace/tensor.js";

/** √Σg² over all leaves, f32 scalar. */
export function globalNorm(tree: TensorTree): Tensor {
  return sqrt(sumOfSquares(tree));
}

/** Σg² over all leaves, f32 scalar. */
export function sumOfSquares(tree: TensorTree): Tensor {
  return tensorsOf(tree)
    .map((leaf) => reduceSumSquare(leaf))
    .reduce<Tensor>((sum, part) => add(sum, part), literal(0));
}
