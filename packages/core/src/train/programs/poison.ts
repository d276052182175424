import { elementCount, isFloat, type Tensor, type TensorTree, zeros } from "@mp/graph";
import { poison, tensorsOf } from "@mp/graph/internal";
import { add, cast, constant, literal, matMul, reduceSum, reshape } from "@mp/graph/ops";
import { withoutImplied } from "./implied-checks.js";

/**
 * `poisonOf` for what is as large as the parameters: gradients, new parameters, optimizer state. Only what does not
 * show in the rest is read.
 */
export function poisonOfUpdate(tree: TensorTree): Tensor {
  return withoutImplied(tensorsOf(tree).filter(({ dtype }) => isFloat(dtype)))
    .map(poisonOfLarge)
    .reduce<Tensor>((sum, part) => add(sum, part), literal(0));
}

/**
 * For at least two rows and two columns it is 0 · X, a row of zeros times the matrix, in which infinities and NaN
 * become NaN as in x · 0, and which engines run at the speed of reading X once. The first axis is the rows.
 */
function poisonOfLarge(x: Tensor): Tensor {
  const [rows = 1, ...rest] = x.shape;
  const columns = elementCount(rest, "poison");
  if (rows < 2 || columns < 2) return poison(x);
  return reduceSum(matMul(constant(zeros([1, rows])), reshape(cast(x, "f32"), [rows, columns])));
}
