import { GraphBuilder } from "../graph/builder.js";
import { type AnyNode, type Graph, isNode, type Origin, type Value } from "../graph/graph.js";
import type { HostTensor } from "../host-tensor.js";

/** A graph being copied node by node into a new one, with replacements. */
export class Rebuilding {
  readonly builder: GraphBuilder = new GraphBuilder();
  readonly #twins = new Map<Value, Value>();
  readonly #names = new Map<string, string>();
  readonly #producers = new Map<Value, AnyNode>();
  readonly #graph: Graph;
  #registered = 0;

  constructor(graph: Graph) {
    this.#graph = graph;
    for (const { name, role, value } of graph.inputs) {
      this.#twins.set(value, this.builder.input(name, value, role));
    }
  }

  /** The counterpart in the new graph of a value of the old one. */
  twin(value: Value): Value {
    const twin = this.#twins.get(value);
    if (twin === undefined) throw new Error(`internal: value %${value.id} is used before it is made`);
    return twin;
  }

  /** The node of the new graph that makes one of its values. */
  producer(value: Value): AnyNode | undefined {
    for (const node of this.builder.nodes.slice(this.#registered)) {
      for (const output of node.outputs) this.#producers.set(output, node);
    }
    this.#registered = this.builder.nodes.length;
    return this.#producers.get(value);
  }

  /** The data of a value of the new graph that is a Constant. */
  constant(value: Value): HostTensor | undefined {
    const node = this.producer(value);
    return node !== undefined && isNode(node, "Constant") ? node.attributes.value : undefined;
  }

  /** Makes `outputs` of the new graph the counterparts of the node's outputs. */
  replace(node: AnyNode, outputs: readonly Value[]): void {
    node.outputs.forEach((output, index) => {
      this.#twins.set(output, outputs[index] as Value);
    });
  }

  /** The origin of a node in terms of the new graph's names. */
  origin({ origin }: AnyNode): Origin {
    const { forward } = origin;
    return forward === undefined ? origin : { ...origin, forward: this.#names.get(forward) ?? forward };
  }

  copy(node: AnyNode): void {
    const inputs = node.inputs.map((input) => this.twin(input));
    this.replace(node, this.builder.emit(node.op, inputs, node.attributes, this.origin(node)));
    this.#names.set(node.name, this.builder.nodes.at(-1)?.name ?? node.name);
  }

  finish(): Graph {
    return this.builder.finish(
      new Map(this.#graph.outputs.map(({ name, value }) => [name, this.twin(value)])),
    );
  }
}

/**
 * Copies a graph; where `visit` gives values of the new graph, they replace the node's outputs. What `visit`
 * emits has the node's origin.
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
