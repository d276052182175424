import type { Tensor, TensorTree } from "@mp/graph";
import { tensorsOf } from "@mp/graph/internal";
import { add, literal, reduceSumSquare, sqrt } from "@mp/graph/ops";

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
