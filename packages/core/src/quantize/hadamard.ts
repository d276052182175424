import { type Tensor, tensor } from "@mp/graph";
import { constant, matMul, reshape, transpose } from "@mp/graph/ops";
import { padTo } from "./blocks.js";

const POINTS = 16;

/** The signs that TransformerEngine multiplies by; any would do, but these make both comparable. */
const SIGNS = [1, 1, 1, -1, 1, -1, -1, -1, -1, -1, -1, 1, -1, 1, -1, -1];

/** Signs times Sylvester's matrix, divided by 4: orthogonal, with exact entries. Row-major. */
const MATRIX: Float32Array = Float32Array.from({ length: POINTS ** 2 }, (_, at) => {
  const [row, column] = [Math.floor(at / POINTS), at % POINTS];
  const common = [1, 2, 4, 8].filter((bit) => (row & column & bit) !== 0).length;
  return ((SIGNS[row] as number) * (common % 2 === 0 ? 1 : -1)) / 4;
});

/**
 * Transforms both operands of a matrix product by the same orthogonal matrix, 16 elements at a time along the axes that
 * are summed over, which the product does not change but for rounding. The axes are padded with zeros to multiples of 16.
 */
export function withHadamard(
  operands: readonly [Tensor, Tensor],
  axes: readonly [number, number],
): readonly Tensor[] {
  return operands.map((x, index) => {
    const axis = axes[index] as number;
    const groups = Math.ceil((x.shape[axis] as number) / POINTS);
    const whole = padTo(x, x.shape.with(axis, groups * POINTS));
    const isLast = axis === x.shape.length - 1;
    const before = x.shape.slice(0, axis);
    const matrix = tensor(MATRIX, [POINTS, POINTS]);
    // Along the last axis x · M, along another Mᵀ · x.
    const made = isLast
      ? matMul(reshape(whole, [...before, groups, POINTS]), constant(matrix))
      : matMul(transpose(constant(matrix), [1, 0]), reshape(whole, [...before, groups, POINTS, -1]));
    return reshape(made, whole.shape);
  });
}
