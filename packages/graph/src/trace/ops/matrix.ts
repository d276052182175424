/** Matrix products. f16 and bf16 accumulate in f32 and are rounded once, on every engine. */
import { checkAttribute } from "../../graph/attribute-kinds-table.js";
import { ellipsisRanks, explicitEquation } from "../../graph/einsum-equation.js";
import { checkOptions } from "../../options.js";
import { asTensor, emit } from "../emit.js";
import type { Tensor } from "../tensor.js";
import { reshape } from "./movement.js";

/**
 * NumPy's matmul: [..., m, k] by [..., k, n] to [..., m, n]. Leading axes broadcast; vectors are allowed. f16 and bf16
 * accumulate in f32 and are rounded once.
 * @throws MP_SHAPE_MISMATCH for inner sizes that differ, MP_DTYPE_MISMATCH for operands of two dtypes
 */
export function matMul(a: Tensor, b: Tensor): Tensor {
  return emit("MatMul", [a, b], {});
}

/**
 * Sums of products along named axes (NumPy's and PyTorch's `einsum`): `einsum("bij,bjk->bik", a, b)` is a batch of
 * matrix products. For each operand, a term names the axes by letters. Letters that the result lacks are summed over. A
 * letter repeated in a term takes the diagonal. `...` stands for axes that broadcast, aligned at their ends. Without
 * `->` the result has the letters that occur once, in alphabetical order. Operands and result have one dtype, floating
 * or integer; f16 and bf16 accumulate in f32 and are rounded once, integers wrap. More than two operands are multiplied
 * two at a time, the cheapest pair first.
 * @throws MP_INVALID_ARGUMENT for an equation outside ONNX's grammar, and if operands and terms differ in number
 * @throws MP_SHAPE_MISMATCH for an operand of another rank than its term, and for a letter of two sizes
 * @throws MP_DTYPE_MISMATCH for operands of two dtypes
 */
export function einsum(equation: string, ...operands: readonly Tensor[]): Tensor {
  checkAttribute("Einsum", "equation", equation);
  const explicit = explicitEquation(equation);
  return emit("Einsum", withAlignedEllipses(explicit, operands), { equation: explicit });
}

/** Makes every ellipsis stand for the same number of axes, which ONNX and the graph require; users may give fewer. */
function withAlignedEllipses(equation: string, operands: readonly Tensor[]): readonly Tensor[] {
  const shapes = operands.map((operand) => asTensor(operand, "Einsum").shape);
  const ranks = ellipsisRanks(equation, shapes);
  const most = Math.max(...ranks.map((rank) => rank ?? 0));
  const terms = equation.split(",");
  return operands.map((operand, index) => {
    const missing = most - (ranks[index] ?? most);
    if (missing === 0) return operand;
    const position = terms[index]?.indexOf("...") ?? 0;
    return reshape(operand, operand.shape.toSpliced(position, 0, ...new Array<number>(missing).fill(1)));
  });
}

export interface GemmOptions {
  /** Whether A has the shape [k, m]; default false. */
  readonly transA?: boolean;
  /** Whether B has the shape [n, k]; default false. */
  readonly transB?: boolean;
  /** Factor of the product; default 1. */
  readonly alpha?: number;
  /** Factor of C; default 1. */
  readonly beta?: number;
}

/**
 * alpha · A' · B' + beta · C for matrices A [m, k] and B [k, n], each transposed on request, and a C that broadcasts to
 * [m, n]. f16 and bf16 accumulate in f32 and are rounded once.
 * @throws MP_SHAPE_MISMATCH, MP_DTYPE_MISMATCH
 */
export function gemm(a: Tensor, b: Tensor, c?: Tensor, options: GemmOptions = {}): Tensor {
  checkOptions("Gemm", options, { transA: true, transB: true, alpha: true, beta: true });
  const { transA = false, transB = false, alpha = 1, beta = 1 } = options;
  return emit("Gemm", c === undefined ? [a, b] : [a, b, c], { transA, transB, alpha, beta });
}
