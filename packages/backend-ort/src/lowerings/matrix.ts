import { float, int } from "@mp/onnx";
import { at, type OwnLowering, type OwnLoweringsOf, operandType } from "./own-lowering.js";

/**
 * Where a factor is 0 the engine does not read the operands, and so loses NaN; without inner elements it forgets to
 * multiply C. In these cases both factors are multiplied in explicitly, as the definition says.
 */
const gemm: OwnLowering<"Gemm"> = (node, operands, writer) => {
  const { alpha, beta, transA, transB } = node.attributes;
  const { dtype, shape } = operandType(node);
  const hasC = operands.length > 2;
  const isEmpty = shape.includes(0);
  if (alpha !== 0 && !(hasC && (beta === 0 || isEmpty))) return undefined;
  const scaled = (x: string, factor: number): string =>
    factor === 1 ? x : writer.one("Mul", [x, writer.scalar(factor, dtype)]);
  const product = writer.one("Gemm", operands.slice(0, 2), {
    transA: int(transA ? 1 : 0),
    transB: int(transB ? 1 : 0),
    alpha: float(1),
  });
  const whole = scaled(product, alpha);
  return [hasC ? writer.one("Add", [whole, scaled(at(operands, 2), beta)]) : whole];
};

export const matrixLowerings: OwnLoweringsOf<"matrix"> = { Gemm: gemm };
