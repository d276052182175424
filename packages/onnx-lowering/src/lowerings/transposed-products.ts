/**
 * Uses the engine's matrix product with flags for transposed operands. ONNX's MatMul has no flags, so gradients of
 * batched products, as in attention, would transpose whole batches first.
 */
import { consumers, type Graph, type GraphNode, isNode, sameShape, type Value } from "@mp/graph";
import { int, ints } from "@mp/onnx/write";
import { at, type OwnLowering } from "./own-lowering.js";

export const FUSED_DOMAIN = "com.microsoft";

/** Results of Transpose whose last two axes stay in place; all readers are products that swap these axes by a flag. */
export type Unswapped = ReadonlySet<Value>;

/**
 * Number of columns from which a Transpose of the first operand is faster than the flag, because with the flag the
 * kernel transposes again for each block of columns.
 */
const MANY_COLUMNS = 2048;

/**
 * Finds the Transpose results that can stay unswapped. The kernel with flags takes only f32, and the rest of the
 * transposition must keep the last axis, so that it copies whole rows or does nothing.
 */
export function findUnswapped(graph: Graph): Unswapped {
  const chosen = new Set<Value>();
  const visit = (scope: Graph): void => {
    const readers = consumers(scope);
    const results = new Set(scope.outputs.map(({ value }) => value));
    for (const node of scope.nodes) {
      if (isNode(node, "Scan")) visit(node.attributes.body);
      if (!isNode(node, "Transpose")) continue;
      const [made] = node.outputs;
      if (made === undefined || results.has(made) || made.dtype !== "f32" || made.shape.includes(0)) continue;
      if (!keepsRows(swapLast(node.attributes.perm))) continue;
      if (readers.get(made)?.every((reader) => canSwap(reader, made))) chosen.add(made);
    }
  };
  visit(graph);
  return chosen;
}

const swapLast = (axes: readonly number[]): readonly number[] => [
  ...axes.slice(0, -2),
  ...axes.slice(-2).toReversed(),
];

const keepsRows = (perm: readonly number[]): boolean => perm.length >= 3 && perm.at(-1) === perm.length - 1;

function canSwap(reader: GraphNode, made: Value): boolean {
  if (!isNode(reader, "MatMul")) return false;
  const [a, b] = reader.inputs;
  if (a === undefined || b === undefined || a.shape.length !== b.shape.length) return false;
  if (!sameShape(a.shape.slice(0, -2), b.shape.slice(0, -2))) return false;
  return a !== made || (b.shape.at(-1) ?? 0) < MANY_COLUMNS;
}

/** Transposes all axes but the last two, which the products swap themselves. */
export const transposeUnswapped =
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
