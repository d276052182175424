import {
  type AnyNode,
  type GraphNode,
  isFloat,
  isNode,
  type OpOf,
  plainEquation,
  type Shape,
} from "@mp/graph";
import { bool, int, string, type } from "../graph/attributes.js";
import type { Term } from "../graph/term.js";
import { inF32 } from "./in-f32.js";
import { count, type Lowering, type LoweringTable, resultAt } from "./lowering.js";
import { sum } from "./sum.js";
import { fillZeros } from "./zeros.js";

/** The product of two matrices, either of which may be transposed. */
function product(a: Term, b: Term, shape: Shape, transposeA = false, transposeB = false): Term {
  const { dtype } = a;
  const attributes = { T: type(dtype), transpose_a: bool(transposeA), transpose_b: bool(transposeB) };
  return a.writer.term("MatMul", [a, b], attributes, { dtype, shape });
}

/** Treats vectors as matrices of one row or column; a stack of matrices times one matrix is one product. */
const matMul: Lowering<"MatMul"> = (node, [left, right], writer) => {
  const { dtype } = left;
  const { shape } = resultAt(node);
  const a: Shape = left.shape.length === 1 ? [1, ...left.shape] : left.shape;
  const b: Shape = right.shape.length === 1 ? [...right.shape, 1] : right.shape;
  const [inner = 0, columns = 0] = b.slice(-2);
  if (inner === 0) return [fillZeros({ dtype, shape }, writer)];
  const rows = count(a.slice(0, -1));
  if (count(b.slice(0, -2)) === 1) {
    const [x, y] = [left.reshape([rows, inner]), right.reshape([inner, columns])];
    return [product(x, y, [rows, columns]).reshape(shape)];
  }
  const operands = [left.reshape(a), right.reshape(b)];
  const attributes = { T: type(dtype), adj_x: bool(false), adj_y: bool(false) };
  const ofRight = right.shape.length === 1 ? [...shape, 1] : shape;
  const whole = left.shape.length === 1 ? [...shape.slice(0, -1), 1, columns] : ofRight;
  return [writer.term("BatchMatMulV2", operands, attributes, { dtype, shape: whole }).reshape(shape)];
};

const gemm: Lowering<"Gemm"> = (node, operands, writer) => {
  const { transA, transB, alpha, beta } = node.attributes;
  const { shape } = resultAt(node);
  const [a, b, c] = operands;
  const scale = (x: Term, by: number): Term => (by === 1 ? x : x.mul(by));
  const inner = a.shape[transA ? 0 : 1];
  const ab =
    inner === 0 ? fillZeros({ dtype: a.dtype, shape }, writer) : product(a, b, shape, transA, transB);
  const y = scale(ab, alpha);
  return [operands.length < 3 ? y : sum(y, scale(c, beta), shape)];
};

/**
 * Whether a composite op is expanded. An Einsum is not if its equation is plain and all operands are floats, because
 * the engine has an op for these.
 */
export function isExpanded(node: AnyNode): boolean {
  if (!isNode(node, "Einsum")) return true;
  return !node.inputs.every(({ dtype }) => isFloat(dtype)) || equation(node) === undefined;
}

const equation = ({ attributes, inputs }: GraphNode<"Einsum">): string | undefined =>
  plainEquation(
    attributes.equation,
    inputs.map(({ shape }) => shape),
  );

const einsum: Lowering<"Einsum"> = (node, operands, writer) => {
  const { dtype } = operands[0];
  const text = string(equation(node) as string);
  const attributes = { T: type(dtype), N: int(operands.length), equation: text };
  return [writer.term("Einsum", operands, attributes, { dtype, shape: resultAt(node).shape })];
};

/** Computes Gemm in f32, because in a half dtype the engine would round the product before it adds C. */
const wideGemm = inF32(gemm);

export const matrixLowerings: LoweringTable<OpOf<"matrix">> = {
  MatMul: matMul,
  Gemm: (node, operands, writer) => {
    const rounds = operands.length > 2 || node.attributes.alpha !== 1;
    return (rounds ? wideGemm : gemm)(node, operands, writer);
  },
  Einsum: einsum,
};
