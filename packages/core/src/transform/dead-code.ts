import type { Graph, Value } from "../graph/graph.js";

/** Drops nodes none of whose outputs anybody reads. Every op is pure; inputs and outputs stay as they are. */
export function eliminateDeadCode(graph: Graph): Graph {
  const read = new Set<Value>(graph.outputs.map((output) => output.value));
  const alive = graph.nodes.toReversed().filter((node) => {
    const isAlive = node.outputs.some((output) => read.has(output));
    if (isAlive) for (const input of node.inputs) read.add(input);
    return isAlive;
  });
  return alive.length === graph.nodes.length
    ? graph
    : Object.freeze({ ...graph, nodes: Object.freeze(alive.reverse()) });
}
