import { type Contraction, readContraction } from "../../graph/einsum-equation.js";
import type { OpOf } from "../../graph/families.js";
import { elementCount, type Shape, sameShape } from "../../shape.js";
import { equal, mul, where } from "../../trace/ops/binary.js";
import { einsum, gemm, matMul } from "../../trace/ops/matrix.js";
import { expand, reshape } from "../../trace/ops/movement.js";
import { range } from "../../trace/ops/source.js";
import type { Tensor } from "../../trace/tensor.js";
import {
  type GradientRule,
  type GradientSite,
  type GradientTable,
  swapLast,
  toShape,
  unbroadcast,
} from "./rule.js";

/** Reshapes [..., m, k] to [rows, k]. */
function asRows(x: Tensor): Tensor {
  if (x.shape.length === 2) return x;
  const rows = elementCount(x.shape.slice(0, -1), "MatMul");
  return reshape(x, [rows, x.shape.at(-1) ?? 1]);
}

/**
 * The gradients of A·B: with g = dL/d(A·B), dL/dA = g·Bᵀ and dL/dB = Aᵀ·g. If B is a single matrix, the batch axes of A
 * are joined with its rows, and each gradient is one Gemm with a flag. Otherwise Transpose precedes MatMul.
 */
const matMulGradient: GradientRule<"MatMul"> = ({ gradient, input, inputType, needs }) => {
  const [aShape, bShape] = [inputType(0).shape, inputType(1).shape];
  const left = aShape.length === 1 ? [1, ...aShape] : aShape;
  const right = bShape.length === 1 ? [...bShape, 1] : bShape;
  const batch = gradient(0).shape.slice(0, Math.max(left.length, right.length) - 2);
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
};

/**
 * Y = alpha · A'·B' + beta · C, where A' and B' are transposed as the flags say: dA' = alpha · g·B'ᵀ, dB' = alpha ·
 * A'ᵀ·g, dC = beta · g summed to C's shape. For a transposed operand, the transposed product is computed instead.
 */
const gemmGradient: GradientRule<"Gemm"> = ({ attributes, gradient, input, inputTypes, needs }) => {
  const { alpha, beta, transA, transB } = attributes;
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
};

/**
 * The gradient of an operand is an Einsum again: the result's gradient takes the operand's place, and the operand's
 * term becomes the result. For "ij,jk->ik" these are "ik,jk->ij" and "ik,ij->jk". A letter of this operand alone was
 * summed over, so the gradient repeats along its axis; if the operand's term repeats a letter, the gradient is 0 off
 * the diagonal.
 */
function einsumGradient(site: GradientSite<"Einsum">): readonly (Tensor | undefined)[] {
  const { attributes, inputTypes } = site;
  const contraction = readContraction(
    attributes.equation,
    inputTypes.map(({ shape }) => shape),
  );
  return inputTypes.map(({ shape }, index) =>
    site.needs(index) ? toShape(operandGradient(site, contraction, index), shape) : undefined,
  );
}

/** The gradient of an operand, without the axes along which the operand broadcasts. */
function operandGradient(
  { gradient, input }: GradientSite<"Einsum">,
  { operands, output, sizes }: Contraction,
  index: number,
): Tensor {
  const extents = (labels: readonly string[]): Shape => labels.map((label) => sizes.get(label) ?? 1);
  const terms = operands.map((axes) => axes.filter((label) => label !== undefined));
  const own = terms[index] ?? [];
  const others = terms.flatMap((labels, at) =>
    at === index ? [] : [{ labels, tensor: (): Tensor => toShape(input(at), extents(labels)) }],
  );
  const labels = [...new Set(own)];
  const isElsewhere = (label: string): boolean =>
    output.includes(label) || others.some((other) => other.labels.includes(label));
  const reached = labels.filter(isElsewhere);
  const equation = `${[output, ...others.map((other) => other.labels.join(""))].join()}->${reached.join("")}`;
  const g =
    equation === `${output}->${output}`
      ? gradient(0)
      : einsum(equation, gradient(0), ...others.map(({ tensor }) => tensor()));
  const kept = labels.map((label) => (isElsewhere(label) ? (sizes.get(label) ?? 1) : 1));
  const repeated = toShape(g, kept);
  const whole = sameShape(kept, extents(labels)) ? repeated : expand(repeated, extents(labels));
  return labels.length === own.length ? whole : onDiagonal(whole, own, sizes);
}

/** Puts x on the diagonals of a tensor with these labels, 0 elsewhere. x has one axis for each distinct label. */
function onDiagonal(x: Tensor, labels: readonly string[], sizes: Contraction["sizes"]): Tensor {
  const shape = labels.map((label) => sizes.get(label) ?? 1);
  const along = (axis: number): Shape => shape.map((size, at) => (at === axis ? size : 1));
  const first = shape.map((size, axis) => (labels.indexOf(labels[axis] as string) === axis ? size : 1));
  let whole = expand(reshape(x, first), shape);
  labels.forEach((label, axis) => {
    const from = labels.indexOf(label);
    if (from === axis) return;
    const [row, column] = [from, axis].map((at) => reshape(range(0, shape[axis] as number), along(at)));
    whole = where(equal(row as Tensor, column as Tensor), whole, 0);
  });
  return whole;
}

export const matrixGradients: GradientTable<OpOf<"matrix">> = {
  MatMul: matMulGradient,
  Gemm: gemmGradient,
  Einsum: einsumGradient,
};
