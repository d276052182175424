import { type Graph, type GraphNode, isFloat, isHalf, type Op, type ValueType } from "@mp/graph";
import type { Emitter } from "../stablehlo/emitter.js";
import type { Operand } from "../stablehlo/operand.js";

/** The operands of a node. Rules read at most five by place; those that an operator needs are there. */
export type Operands = readonly [Operand, Operand, Operand, Operand, Operand, ...Operand[]];

/** Emits the nodes of a graph and returns its outputs, for operators that have a graph as an attribute. */
export type EmitGraph = (emitter: Emitter, graph: Graph, operands: readonly Operand[]) => readonly Operand[];

/** Emits the operations that compute a node. @returns the node's outputs, in order and of their types */
export type Lowering<K extends Op = Op> = (
  emitter: Emitter,
  node: GraphNode<K>,
  operands: Operands,
  emitGraph: EmitGraph,
) => readonly Operand[];

export type LoweringTable<O extends Op = Op> = { readonly [K in O]: Lowering<K> };

/** The type of a node's output. */
export function resultType(node: GraphNode, index = 0): ValueType {
  const value = node.outputs[index];
  if (value === undefined) throw new Error(`internal: ${node.name} has no output ${index}`);
  return value;
}

/** Wraps a lowering to compute in f32 where operands or results have a half dtype, and to round each result once. */
export function inF32<K extends Op>(lowering: Lowering<K>): Lowering<K> {
  return (emitter, node, operands, emitGraph) => {
    const wide = operands.map((x) => (isHalf(x.type.dtype) ? emitter.convert(x, "f32") : x));
    const results = lowering(emitter, node, wide as unknown as Operands, emitGraph);
    return results.map((x, index) =>
      isFloat(x.type.dtype) ? emitter.convert(x, resultType(node, index).dtype) : x,
    );
  };
}
