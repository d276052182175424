import { zeros } from "../host-tensor.js";
import { elementCount } from "../shape.js";
import { poison } from "../trace/finite.js";
import { type TensorTree, tensorsOf } from "../trace/map-tensors.js";
import { add, literal } from "../trace/ops/elementwise.js";
import { matMul } from "../trace/ops/matrix.js";
import { constant, reshape } from "../trace/ops/movement.js";
import { reduceSum } from "../trace/ops/reduce.js";
import type { Tensor } from "../trace/tensor.js";

/**
 * `poisonOf` for gradients (f32): of a matrix it is 0 · X, a row of zeros times the matrix, in which infinities
 * and NaN become NaN as in x · 0, and which engines run at the speed of reading X once.
 */
export function poisonOfGradients(gradients: TensorTree): Tensor {
  return tensorsOf(gradients)
    .map(poisonOfGradient)
    .reduce<Tensor>((sum, part) => add(sum, part), literal(0));
}

function poisonOfGradient(gradient: Tensor): Tensor {
  const [rows = 1, ...rest] = gradient.shape;
  const columns = elementCount(rest, "poison");
  if (rows < 2 || columns < 2) return poison(gradient);
  return reduceSum(matMul(constant(zeros([1, rows])), reshape(gradient, [rows, columns])));
}
