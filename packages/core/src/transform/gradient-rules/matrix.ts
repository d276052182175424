import type { OpOf } from "../../graph/families.js";
import { elementCount } from "../../shape.js";
import { mul } from "../../trace/ops/binary.js";
import { gemm, matMul } from "../../trace/ops/matrix.js";
import { reshape, transpose } from "../../trace/ops/movement.js";
import type { Tensor } from "../../trace/tensor.js";
import { type GradientSite, type GradientTable, toShape, unbroadcast } from "./rule.js";

const swapLast = (x: Tensor): Tensor => {
  const axes = x.shape.map((_, axis) => axis);
  return transpose(x, [...axes.slice(0, -2), axes.length - 1, axes.length - 2]);
};

/** [..., m, k] as [rows, k]. */
function asRows(x: Tensor): Tensor {
  if (x.shape.length === 2) return x;
  const rows = elementCount(x.shape.slice(0, -1), "MatMul");
  return reshape(x, [rows, x.shape.at(-1) ?? 1]);
}

/**
 * With g = dL/d(A·B): dL/dA = g·Bᵀ and dL/dB = Aᵀ·g. A single matrix B makes both one Gemm over all rows of A,
 * which transposes by flag; batches of matrices on both sides need a Transpose.
 */
function matMulGradient({
  gradient,
  input,
  inputTypes,
  outputTypes,
  needs,
}: GradientSite<"MatMul">): readonly (Tensor | undefined)[] {
  const [aShape, bShape] = inputTypes.map((type) => type.shape);
  const [out] = outputTypes;
  if (aShape === undefined || bShape === undefined || out === undefined) return [];
  const left = aShape.length === 1 ? [1, ...aShape] : aShape;
  const right = bShape.length === 1 ? [...bShape, 1] : bShape;
  const batch = out.shape.slice(0, Math.max(left.length, right.length) - 2);
  const g = toShape(gradient(0), [...batch, left.at(-2) ?? 1, right.at(-1) ?? 1]);
  const a = (): Tensor => toShape(input(0), left);
  const b = (): Tensor => toShape(input(1), right);

  if (right.length === 2) {
    return [
      needs(0) ? toShape(gemm(asRows(g), b(), undefined, { transB: true }), aShape) : undefined,
      needs(1) ? toShape(gemm(asRows(a()), asRows(g), undefined, { transA: true }), bShape) : undefined,
    ];
  }
  return [
    needs(0) ? toShape(unbroadcast(matMul(g, swapLast(b())), left), aShape) : undefined,
    needs(1) ? toShape(unbroadcast(matMul(swapLast(a()), g), right), bShape) : undefined,
  ];
}

/**
 * Y = alpha · A'·B' + beta · C: dA' = alpha · g·B'ᵀ, dB' = alpha · A'ᵀ·g, dC = beta · g summed to C's shape.
 * Where the operand itself was transposed, the transposed product is computed instead.
 */
function gemmGradient({
  attributes: { alpha, beta, transA, transB },
  gradient,
  input,
  inputTypes,
  needs,
}: GradientSite<"Gemm">): readonly (Tensor | undefined)[] {
  const g = gradient(0);
  const product = (x: Tensor, y: Tensor, flipX: boolean, flipY: boolean): Tensor =>
    gemm(x, y, undefined, { transA: flipX, transB: flipY, alpha });
  const forA = (): Tensor =>
    transA ? product(input(1), g, transB, true) : product(g, input(1), false, !transB);
  const forB = (): Tensor =>
    transB ? product(g, input(0), true, transA) : product(input(0), g, !transA, false);
  const forC = (): Tensor => {
    const summed = unbroadcast(g, inputTypes[2]?.shape ?? []);
    return beta === 1 ? summed : mul(summed, beta);
  };
  return [
    needs(0) ? forA() : undefined,
    needs(1) ? forB() : undefined,
    inputTypes.length > 2 && needs(2) ? forC() : undefined,
  ];
}

export const matrixGradients: GradientTable<OpOf<"matrix">> = {
  MatMul: matMulGradient,
  Gemm: gemmGradient,
};
