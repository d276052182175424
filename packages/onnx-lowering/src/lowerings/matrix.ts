import { float, int } from "@mp/onnx/write";
import { oncePerName } from "./once-per-name.js";
import { transpose } from "./operators.js";
import { at, firstApplicable, type OwnLowering, type OwnLoweringsOf, operandType } from "./own-lowering.js";
import type { Target } from "./target.js";
import { fusedMatMul, type Unswapped } from "./transposed-products.js";

/**
 * Multiplies by alpha and beta explicitly if one of them or the inner size is 0. The engine does not read an
 * operand whose factor is 0, which loses NaN, and drops beta · C if the inner size is 0. Alpha is multiplied
 * into A, because in a half dtype A · B may overflow where alpha · A · B does not.
 */
const withZeroFactors: OwnLowering<"Gemm"> = (node, operands, writer) => {
  const { alpha, beta, transA, transB } = node.attributes;
  const { dtype, shape } = operandType(node);
  const hasC = operands.length > 2;
  const isEmpty = shape.includes(0);
  if (alpha !== 0 && !(hasC && (beta === 0 || isEmpty))) return undefined;
  const scale = (x: string, factor: number): string =>
    factor === 1 ? x : writer.one("Mul", [x, writer.scalar(factor, dtype)]);
  const [a, b] = [at(operands, 0), at(operands, 1)];
  const product = writer.one("Gemm", [alpha === 0 ? scale(a, 0) : a, b], {
    transA: int(transA ? 1 : 0),
    transB: int(transB ? 1 : 0),
    alpha: float(alpha === 0 ? 1 : alpha),
  });
  return [hasC ? writer.one("Add", [product, scale(at(operands, 2), beta)]) : product];
};

/** Gemms whose result has fewer elements keep the attribute transA. */
const MANY_ELEMENTS = 256 * 256;

/** Transposes a matrix once for all gradients that share it as an operand. */
const transposeOnce = oncePerName((name, writer) => transpose(name, [1, 0], writer));

/**
 * Computes AᵀB without transA, because with this attribute the CPU kernel transposes A again for each block of B's
 * columns. If AᵀB has more rows than columns, (BᵀA)ᵀ transposes B and the result instead.
 */
const gemmWithoutFlag: OwnLowering<"Gemm"> = (node, operands, writer) => {
  const { alpha, transA, transB } = node.attributes;
  const [rows = 0, columns = 0] = node.outputs[0]?.shape ?? [];
  if (!transA || transB || alpha !== 1 || operands.length > 2 || rows * columns < MANY_ELEMENTS)
    return undefined;
  const [a, b] = [at(operands, 0), at(operands, 1)];
  if (rows <= columns) return [writer.one("Gemm", [transposeOnce(a, writer), b])];
  return [transpose(writer.one("Gemm", [transposeOnce(b, writer), a]), [1, 0], writer)];
};

export const matrixLowerings = (target: Target, unswapped: Unswapped): OwnLoweringsOf<"matrix"> => ({
  Gemm: target.device === "cpu" ? firstApplicable(withZeroFactors, gemmWithoutFlag) : withZeroFactors,
  MatMul: fusedMatMul(unswapped),
});
