import { type AnyNode, type Graph, isNode, type Value } from "../graph/graph.js";
import { withoutDeadResults } from "../graph/scan/dead-results.js";

/**
 * Drops nodes whose outputs nothing reads, and the unread results and carries of scans. Every op is pure. Inputs and
 * outputs of the graph stay as they are.
 */
export function eliminateDeadCode(graph: Graph): Graph {
  const read = new Set<Value>(graph.outputs.map((output) => output.value));
  let isChanged = false;
  const alive: AnyNode[] = [];
  for (const node of graph.nodes.toReversed()) {
    if (!node.outputs.some((output) => read.has(output))) {
      isChanged = true;
      continue;
    }
    const lean = isNode(node, "Scan") ? withoutDeadResults(node, read, eliminateDeadCode) : node;
    if (lean !== node) isChanged = true;
    for (const input of lean.inputs) read.add(input);
    alive.push(lean);
  }
  return isChanged ? Object.freeze({ ...graph, nodes: Object.freeze(alive.reverse()) }) : graph;
}
