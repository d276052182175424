/**
 * The engine's product of matrices with flags for transposed operands. ONNX's MatMul has none: the gradients of products of
 * batches, as attention has them, transpose whole batches before.
 */
import { consumers, type Graph, type GraphNode, isNode, sameShape, type Value } from "@mp/core/graph";
import { int, ints } from "@mp/onnx";
import { at, type OwnLowering } from "./own-lowering.js";

export const FUSED_DOMAIN = "com.microsoft";

/** Results of Transpose nodes that are made with their last two axes unswapped, since all readers are products with the flag. */
export type Unswapped = ReadonlySet<Value>;

/** From this many columns on, the kernel takes longer to transpose its first operand, again for each block of them, than a Transpose does. */
const MANY_COLUMNS = 2048;

/**
 * Chooses them: in f32, the dtype of the kernel, and where what is left to transpose keeps its last axis, which is a copy of
 * whole rows, or is nothing at all.
 */
export function unswappedOf(graph: Graph): Unswapped {
  const chosen = new Set<Value>();
  const visit = (scope: Graph): void => {
    const readers = consumers(scope);
    const results = new Set(scope.outputs.map(({ value }) => value));
    for (const node of scope.nodes) {
      if (isNode(node, "Scan")) visit(node.attributes.body);
      if (!isNode(node, "Transpose")) continue;
      const [made] = node.outputs;
      const isLeft =
        made === undefined || results.has(made) || made.dtype !== "f32" || made.shape.includes(0);
      if (isLeft || !keepsRows(swapLast(node.attributes.perm))) continue;
      if (readers.get(made)?.every((reader) => canSwap(reader, made))) chosen.add(made);
    }
  };
  visit(graph);
  return chosen;
}

const swapLast = (axes: readonly number[]): readonly number[] =>
  axes.length < 3 ? axes : [...axes.slice(0, -2), ...axes.slice(-2).toReversed()];

const keepsRows = (perm: readonly number[]): boolean => perm.length >= 3 && perm.at(-1) === perm.length - 1;

function canSwap(reader: GraphNode, made: Value): boolean {
  if (!isNode(reader, "MatMul")) return false;
  const [a, b] = reader.inputs;
  if (a === undefined || b === undefined || a.shape.length !== b.shape.length) return false;
  if (!sameShape(a.shape.slice(0, -2), b.shape.slice(0, -2))) return false;
  return a !== made || (b.shape.at(-1) ?? 0) < MANY_COLUMNS;
}

/** What such a Transpose leaves to be done. */
export const unswappedTranspose =
  (unswapped: Unswapped): OwnLowering<"Transpose"> =>
  (node, operands, writer) => {
    if (!node.outputs.some((value) => unswapped.has(value))) return undefined;
    const perm = swapLast(node.attributes.perm);
    if (perm.every((axis, index) => axis === index)) return [at(operands, 0)];
    return [writer.one("Transpose", [at(operands, 0)], { perm: ints(perm) })];
  };

export const fusedMatMul =
  (unswapped: Unswapped): OwnLowering<"MatMul"> =>
  (node, operands, writer) => {
    const [transA, transB] = node.inputs.map((value) => int(unswapped.has(value) ? 1 : 0));
    if (transA === undefined || transB === undefined || !node.inputs.some((value) => unswapped.has(value)))
      return undefined;
    return [writer.one("FusedMatMul", operands, { transA, transB }, { domain: FUSED_DOMAIN })];
  };
