import type { GraphNode, Op, Value } from "@mp/graph";
import { KnownIndices } from "../stablehlo/known-indices.js";
import type { Operand } from "../stablehlo/operand.js";
import type { EmitGraph, Lowering, Operands } from "./lowering.js";
import { lowerings } from "./lowerings.js";

/**
 * Emits the nodes of a graph. `expandComposites` must have replaced the operators without a lowering.
 * @param operands the values of the graph's inputs, in their order
 * @returns the values of the graph's outputs, in their order
 */
export const emitGraph: EmitGraph = (emitter, graph, operands) => {
  const known = new Map<Value, Operand>();
  const outer = emitter.knownIndices;
  emitter.knownIndices = new KnownIndices(graph);
  graph.inputs.forEach(({ value }, index) => {
    known.set(value, expect(operands[index], `input ${index}`));
  });
  const read = (value: Value): Operand => expect(known.get(value), `value ${value.id}`);
  for (const node of graph.nodes as readonly GraphNode[]) {
    const lower = lowerings[node.op] as Lowering<Op>;
    const results = lower(emitter, node, node.inputs.map(read) as unknown as Operands, emitGraph);
    node.outputs.forEach((output, index) => {
      known.set(output, expect(results[index], `${node.name}, output ${index}`));
    });
  }
  emitter.knownIndices = outer;
  return graph.outputs.map(({ value }) => read(value));
};

function expect(operand: Operand | undefined, what: string): Operand {
  if (operand === undefined) throw new Error(`internal: ${what} has no operand`);
  return operand;
}
