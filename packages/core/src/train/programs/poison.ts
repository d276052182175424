import { isFloat } from "../../dtype.js";
import { zeros } from "../../host/host-tensor.js";
import { elementCount } from "../../shape.js";
import { type TensorTree, tensorsOf } from "../../trace/map-tensors.js";
import { add } from "../../trace/ops/binary.js";
import { poison } from "../../trace/ops/finite.js";
import { matMul } from "../../trace/ops/matrix.js";
import { reshape } from "../../trace/ops/movement.js";
import { reduceSum } from "../../trace/ops/reduce.js";
import { constant, literal } from "../../trace/ops/source.js";
import { cast } from "../../trace/ops/unary.js";
import type { Tensor } from "../../trace/tensor.js";
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
