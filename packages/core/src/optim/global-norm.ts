import { type TensorTree, tensorsOf } from "../trace/map-tensors.js";
import { add } from "../trace/ops/binary.js";
import { reduceSumSquare } from "../trace/ops/reduce.js";
import { literal } from "../trace/ops/source.js";
import { sqrt } from "../trace/ops/unary.js";
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
