import type { DType, Shape } from "@mp/core";
import { type GraphNode, isFloat, type OpOf, plainEquation } from "@mp/core/graph";
import {
  bool,
  int,
  type Lowering,
  type LoweringTable,
  string,
  type TfWriter,
  type,
} from "../graph/tf-writer.js";
import { emitT, operandAt, reshape, resultAt, sizeOf, typeAt } from "./lowering.js";
import { sumOf } from "./sum.js";
import { inF32 } from "./twins.js";
import { zerosOf } from "./zeros.js";

interface Flags {
  readonly transposeA?: boolean;
  readonly transposeB?: boolean;
}

function product(a: string, b: string, dtype: DType, writer: TfWriter, flags: Flags = {}): string {
  const { transposeA = false, transposeB = false } = flags;
  return writer.one("MatMul", [a, b], {
    T: type(dtype),
    transpose_a: bool(transposeA),
    transpose_b: bool(transposeB),
  });
}

/**
 * Vectors become matrices of one row or column; a stack of matrices times a single matrix becomes one matrix of all
 * rows.
 */
const matMul: Lowering<"MatMul"> = (node, operands, writer) => {
  const [left, right] = [typeAt(node, 0), typeAt(node, 1)];
  const { dtype, shape } = resultAt(node);
  const a: Shape = left.shape.length === 1 ? [1, ...left.shape] : left.shape;
  const b: Shape = right.shape.length === 1 ? [...right.shape, 1] : right.shape;
  const [inner = 0, columns = 0] = b.slice(-2);
  if (inner === 0) return [zerosOf(resultAt(node), writer)];
  const rows = sizeOf(a.slice(0, -1));
  const take = (index: number, from: Shape, to: Shape): string =>
    reshape(operandAt(operands, index), dtype, from, to, writer);
  if (sizeOf(b.slice(0, -2)) === 1) {
    const [x, y] = [take(0, left.shape, [rows, inner]), take(1, right.shape, [inner, columns])];
    return [reshape(product(x, y, dtype, writer), dtype, [rows, columns], shape, writer)];
  }
  const [x, y] = [take(0, left.shape, a), take(1, right.shape, b)];
  const attributes = { T: type(dtype), adj_x: bool(false), adj_y: bool(false) };
  const batched = writer.one("BatchMatMulV2", [x, y], attributes);
  const vectors = left.shape.length === 1 || right.shape.length === 1;
  return [
    vectors
      ? writer.one("Reshape", [batched, writer.ints(shape)], { T: type(dtype), Tshape: type("i32") })
      : batched,
  ];
};

const gemm: Lowering<"Gemm"> = (node, operands, writer) => {
  const { transA, transB, alpha, beta } = node.attributes;
  const { dtype } = resultAt(node);
  const flags = { transposeA: transA, transposeB: transB };
  const scaled = (name: string, by: number): string =>
    by === 1 ? name : emitT("Mul", [name, writer.scalar(by, dtype)], dtype, writer);
  const inner = typeAt(node, 0).shape[transA ? 0 : 1];
  const ab =
    inner === 0
      ? zerosOf(resultAt(node), writer)
      : product(operandAt(operands, 0), operandAt(operands, 1), dtype, writer, flags);
  const y = scaled(ab, alpha);
  if (operands.length < 3) return [y];
  const { shape } = resultAt(node);
  const c = { name: scaled(operandAt(operands, 2), beta), shape: typeAt(node, 2).shape };
  return [sumOf({ name: y, shape }, c, { dtype, shape }, writer)];
};

/** The engine's Einsum is for plain equations of two operands in floats; others become matrix products and sums. */
export function isExpanded(node: GraphNode<"Einsum">): boolean {
  return !isFloat(typeAt(node, 0).dtype) || equationOf(node) === undefined;
}

const equationOf = ({ attributes, inputs }: GraphNode<"Einsum">): string | undefined =>
  plainEquation(
    attributes.equation,
    inputs.map(({ shape }) => shape),
  );

const einsum: Lowering<"Einsum"> = (node, operands, writer) =>
  writer.emit("Einsum", operands, {
    T: type(resultAt(node).dtype),
    N: int(operands.length),
    equation: string(equationOf(node) as string),
  });

/** The engine rounds a product to its dtype before anything is added to it. */
const wideGemm = inF32(gemm);

export const matrixLowerings: LoweringTable<OpOf<"matrix">> = {
  MatMul: matMul,
  Gemm: (node, operands, writer) => {
    const rounds = operands.length > 2 || node.attributes.alpha !== 1;
    return (rounds ? wideGemm : gemm)(node, operands, writer);
  },
  Einsum: einsum,
};
