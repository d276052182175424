import { type Graph, GraphBuilder, isNode } from "@mp/graph";
import { GraphCopy } from "@mp/graph/internal";

/**
 * Removes casts of a value to the dtype it already has, from graphs to which no further policy is applied.
 * `autocastGraph` keeps such casts, because they mark where a dtype begins.
 */
export function dropIdleCasts(graph: Graph): Graph {
  if (!graph.nodes.some((node) => node.op === "Cast" && node.inputs[0]?.dtype === node.attributes.to))
    return graph;
  const copy = new GraphCopy(graph, new GraphBuilder());
  copy.copyInputs();
  for (const node of graph.nodes) {
    const inputs = copy.counterparts(node.inputs);
    // A cast dropped before may have changed the dtype of the operand.
    const isIdle = isNode(node, "Cast") && inputs[0]?.dtype === node.attributes.to;
    if (isIdle) copy.replace(node, inputs);
    else copy.copy(node);
  }
  return copy.finish();
}
