import { type AnyNode, type Graph, isNode } from "../graph.js";

/** All nodes of a graph; the nodes of a body come right after its scan. */
export function* deepNodes({ nodes }: Graph): Generator<AnyNode> {
  for (const node of nodes) {
    yield node;
    if (node.op === "Scan") yield* deepNodes(node.attributes.body);
  }
}

/**
 * Makes a pass also transform the bodies of scans, before the surrounding graph. A body that two nodes share stays
 * shared.
 */
export function withBodies(pass: (graph: Graph) => Graph): (graph: Graph) => Graph {
  return (graph) => {
    const known = new Map<Graph, Graph>();
    const deep = (one: Graph): Graph => {
      if (!one.nodes.some(({ op }) => op === "Scan")) return pass(one);
      const nodes = one.nodes.map((node): AnyNode => {
        if (!isNode(node, "Scan")) return node;
        const { body } = node.attributes;
        const done = known.get(body) ?? deep(body);
        known.set(body, done);
        return done === body
          ? (node as AnyNode)
          : ({ ...node, attributes: { ...node.attributes, body: done } } as AnyNode);
      });
      const isSame = nodes.every((node, index) => node === one.nodes[index]);
      return pass(isSame ? one : { ...one, nodes });
    };
    return deep(graph);
  };
}
