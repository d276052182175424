import type { HostTensor } from "../../host/host-tensor.js";
import { type AnyNode, type Graph, isNode, type Value } from "../graph.js";
import { GraphBuilder } from "./builder.js";
import { GraphCopy } from "./graph-copy.js";

/** A copy into a new graph; code that replaces nodes can look up the nodes emitted so far. */
export class Rebuilding extends GraphCopy<GraphBuilder> {
  readonly #producers = new Map<Value, AnyNode>();
  #registered = 0;

  constructor(graph: Graph) {
    super(graph, new GraphBuilder());
    this.copyInputs();
  }

  /** The node of the new graph that produces the value. */
  producer(value: Value): AnyNode | undefined {
    for (const node of this.builder.nodes.slice(this.#registered)) {
      for (const output of node.outputs) this.#producers.set(output, node);
    }
    this.#registered = this.builder.nodes.length;
    return this.#producers.get(value);
  }

  /** The data of a value of the new graph, if it is a Constant. */
  constant(value: Value): HostTensor | undefined {
    const node = this.producer(value);
    return node !== undefined && isNode(node, "Constant") ? node.attributes.value : undefined;
  }
}

/**
 * Copies a graph. If `visit` returns values of the new graph, they replace the node's outputs; otherwise the node is
 * copied. Nodes that `visit` emits have the node's origin.
 */
export function rebuildGraph(
  graph: Graph,
  visit: (node: AnyNode, rebuilding: Rebuilding) => readonly Value[] | undefined,
): Graph {
  const rebuilding = new Rebuilding(graph);
  for (const node of graph.nodes) {
    rebuilding.builder.origin = rebuilding.origin(node);
    const outputs = visit(node, rebuilding);
    if (outputs === undefined) rebuilding.copy(node);
    else rebuilding.replace(node, outputs);
  }
  return rebuilding.finish();
}
