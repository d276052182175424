import { type Graph, isNode } from "./graph.js";

/** The name of a node that draws random numbers, also of one in a loop's body; undefined if there is none. */
export function randomNodeIn({ nodes }: Graph): string | undefined {
  for (const node of nodes) {
    if (node.op === "RandomBits") return node.name;
    const inner = isNode(node, "Scan") ? randomNodeIn(node.attributes.body) : undefined;
    if (inner !== undefined) return inner;
  }
  return undefined;
}
