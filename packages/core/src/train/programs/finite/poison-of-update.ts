import { elementCount, isFloat, type Tensor, type TensorTree, zeros } from "@mp/graph";
import { poison, tensorsOf } from "@mp/graph/internal";
import { add, cast, constant, literal, matMul, reduceSum, reshape } from "@mp/graph/ops";
import { withoutImplied } from "./implied-checks.js";

/**
 * `poisonOf` for trees as large as the parameters: gradients, new parameters, optimizer state. Skips tensors whose
 * infinities and NaN make another of the tensors infinite or NaN.
 */
export function poisonOfUpdate(tree: TensorTree): Tensor {
  return withoutImplied(tensorsOf(tree).filter(({ dtype }) => isFloat(dtype)))
    .map(poisonOfLarge)
    .reduce<Tensor>((sum, part) => add(sum, part), literal(0));
}

/**
 * `poison` of a tensor. With two rows (first axis) and two columns or more, it is a row of zeros times the matrix,
 * which turns infinities and NaN into NaN as x · 0 does. This takes engines as long as reading the matrix once.
 */
function poisonOfLarge(x: Tensor): Tensor {
  const [rows = 1, ...rest] = x.shape;
  const columns = elementCount(rest, "poison");
  if (rows < 2 || columns < 2) return poison(x);
  return reduceSum(matMul(constant(zeros([1, rows])), reshape(cast(x, "f32"), [rows, columns])));
}
