import type { GraphNode, Op, Shape, Value } from "@mp/graph";
import type { ScopeWriter } from "../graph/scope-writer.js";
import type { Term } from "../graph/term.js";

/** The operands of a node; a validated graph has as many as the op needs. */
export type Operands = readonly [Term, Term, Term, Term, Term, ...Term[]];

/** Appends the nodes that compute a graph node. @returns the node's outputs, in order */
export type Lowering<K extends Op = Op> = (
  node: GraphNode<K>,
  operands: Operands,
  writer: ScopeWriter,
) => readonly Term[];

export type LoweringTable<O extends Op = Op> = { readonly [K in O]: Lowering<K> };

/** The type of one of a node's results. */
export function resultAt(node: GraphNode, index = 0): Value {
  const value = node.outputs[index];
  if (value === undefined) throw new Error(`internal: ${node.name} has no result ${index}`);
  return value;
}

/** Number of elements of a shape, or of some of its axes. */
export function count(shape: Shape): number {
  return shape.reduce((product, dimension) => product * dimension, 1);
}

/** Pads before and after each axis, from a list of all pads before the axes, then all pads after them. */
export function padPairs(pads: readonly number[]): readonly (readonly [before: number, after: number])[] {
  const rank = pads.length / 2;
  return Array.from({ length: rank }, (_, axis) => [pads[axis] ?? 0, pads[rank + axis] ?? 0] as const);
}
