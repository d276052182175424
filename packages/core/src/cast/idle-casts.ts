import { GraphBuilder } from "../graph/builder.js";
import type { Graph, Value } from "../graph/graph.js";

/**
 * Removes casts of a value to the dtype it already has. Not part of `autocastGraph`, where such casts still mark where
 * a dtype begins; for graphs to which no further policy is applied.
 */
export function dropIdleCasts(graph: Graph): Graph {
  if (!graph.nodes.some((node) => node.op === "Cast" && node.inputs[0]?.dtype === node.attributes.to))
    return graph;
  const builder = new GraphBuilder();
  const values = new Map<Value, Value>();
  const names = new Map<string, string>();
  for (const { name, value, role } of graph.inputs) values.set(value, builder.input(name, value, role));
  for (const node of graph.nodes) {
    const inputs = node.inputs.map((value) => values.get(value) as Value);
    const [source] = inputs;
    const [result] = node.outputs;
    if (node.op === "Cast" && result !== undefined && source?.dtype === node.attributes.to) {
      values.set(result, source);
      continue;
    }
    const { forward } = node.origin;
    const origin =
      forward === undefined ? node.origin : { ...node.origin, forward: names.get(forward) ?? forward };
    const outputs = builder.emit(node.op, inputs, node.attributes, origin);
    names.set(node.name, builder.nodes.at(-1)?.name ?? node.name);
    for (const [index, value] of node.outputs.entries()) values.set(value, outputs[index] as Value);
  }
  return builder.finish(new Map(graph.outputs.map(({ name, value }) => [name, values.get(value) as Value])));
}
