import type { AnyNode, Graph } from "../graph/graph.js";
import { expandAttentions } from "./expand-attention.js";
import { expandEinsums } from "./expand-einsum.js";

/** A graph without the Attention, AttentionGradient and Einsum nodes that were expanded. */
export interface ExpandedGraph {
  readonly graph: Graph;
  /**
   * Maps the name of a node of the new graph to the name of the original node that it is part of. A node that was not
   * expanded maps to itself.
   */
  readonly sourceOf: (name: string) => string;
}

/**
 * Replaces Attention, its gradient and Einsum by matrix products, sums and a softmax, for engines without good kernels
 * for these operators. Bodies of loops are expanded, too, but `sourceOf` does not cover their nodes. Calls
 * `expandAttentions`, then `expandEinsums`.
 * @param isExpanded called for each such node; by default all are replaced
 */
export function expandComposites(graph: Graph, isExpanded?: (node: AnyNode) => boolean): ExpandedGraph {
  const sources = new Map<string, string>();
  const sourceName = (name: string): string => sources.get(name) ?? name;
  const attended = expandAttentions(graph, isExpanded, (made, { name }) => sources.set(made, name));
  const expanded = expandEinsums(attended, isExpanded, (made, { name }) =>
    sources.set(made, sourceName(name)),
  );
  return { graph: expanded, sourceOf: sourceName };
}
