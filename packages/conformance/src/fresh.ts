/**
 * Copies of a case's data for each run. If a faulty backend writes to its arguments, only this case fails, and no
 * other case made from the same table.
 */
import { type AnyNode, type Graph, isNode } from "@mp/graph";

/** Copies a tree of lists, plain objects and tensors, with new arrays. */
export function fresh<T>(tree: T): T {
  return copyTree(tree) as T;
}

/** Returns a function that returns a new copy of the tree at each call. */
export function anew<T>(tree: T): () => T {
  return () => fresh(tree);
}

/** Copies a graph with new constants. Values and nodes still refer to each other. */
export function freshGraph(graph: Graph): Graph {
  const renew = (node: AnyNode): AnyNode => {
    if (isNode(node, "Constant")) return { ...node, attributes: fresh(node.attributes) };
    if (!isNode(node, "Scan")) return node;
    return { ...node, attributes: { ...node.attributes, body: freshGraph(node.attributes.body) } };
  };
  return { ...graph, nodes: graph.nodes.map(renew) };
}

function copyTree(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyTree);
  if (ArrayBuffer.isView(value)) return (value as Float32Array).slice();
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype)
    return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, copyTree(part)]));
}
