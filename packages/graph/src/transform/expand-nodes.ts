import type { Op } from "../graph/attributes.js";
import type { GraphBuilder } from "../graph/build/builder.js";
import { rewriteBodies, rewriteNodes } from "../graph/build/rewrite-nodes.js";
import type { AnyNode, Graph, GraphNode, Value } from "../graph/graph.js";

export interface NodeExpansion<K extends Op> {
  /** Whether to expand a node; default all nodes of the operators. */
  readonly isExpanded?: ((node: AnyNode) => boolean) | undefined;
  /** Emits the nodes that replace a node; returns their results. */
  readonly expand: (builder: GraphBuilder, node: GraphNode<K>, inputs: readonly Value[]) => readonly Value[];
  readonly onNode?: ((made: string, source: AnyNode) => void) | undefined;
}

/** Expands the chosen nodes of some operators, also in bodies of loops. Returns the graph itself if none is chosen. */
export function expandNodes<K extends Op>(
  graph: Graph,
  ops: readonly K[],
  expansion: NodeExpansion<K>,
): Graph {
  const { isExpanded = () => true, expand, onNode } = expansion;
  const isOne = (node: AnyNode): boolean => (ops as readonly Op[]).includes(node.op) && isExpanded(node);
  const chosen = new Set(graph.nodes.filter(isOne));
  const loops = rewriteBodies(graph, (body) => expandNodes(body, ops, { isExpanded, expand }));
  if (chosen.size === 0 && loops.size === 0) return graph;
  return rewriteNodes(graph, {
    visit: (builder, node, inputs) => {
      if (chosen.has(node)) return expand(builder, node as GraphNode<Op> as GraphNode<K>, inputs);
      const { op: other, attributes, origin, name } = loops.get(node) ?? node;
      return builder.emit(other, inputs, attributes, origin, name);
    },
    onNode,
  });
}
