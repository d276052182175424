import { invalid } from "../../errors.js";
import type { Op, OpAttributes } from "../attributes.js";
import type { AnyNode, Graph, InputRole, Origin, Value, ValueType } from "../graph.js";

/** The part of `GraphBuilder` that a copy needs. */
export interface CopyTarget {
  readonly nodes: readonly AnyNode[];
  input(name: string, type: ValueType, role: InputRole): Value;
  emit<K extends Op>(
    op: K,
    inputs: readonly Value[],
    attributes: OpAttributes[K],
    origin?: Origin,
    name?: string,
  ): readonly Value[];
  finish(outputs: ReadonlyMap<string, Value>): Graph;
}

/**
 * A copy of a graph into a builder, node by node: maps values to their counterparts and node names to the new names.
 */
export class GraphCopy<B extends CopyTarget = CopyTarget> {
  readonly builder: B;
  /** The counterparts in the builder of the values copied until now. */
  readonly values: Map<Value, Value> = new Map();
  /** The name in the builder of each node that was copied. */
  readonly names: Map<string, string> = new Map();
  readonly #graph: Graph;

  constructor(graph: Graph, builder: B) {
    this.#graph = graph;
    this.builder = builder;
  }

  /** Adds the graph's inputs to the builder. */
  copyInputs(): void {
    for (const { name, role, value } of this.#graph.inputs) {
      this.values.set(value, this.builder.input(name, value, role));
    }
  }

  /** @throws MP_INVALID_ARGUMENT if the value has no counterpart yet */
  counterpart(value: Value): Value {
    const found = this.values.get(value);
    if (found !== undefined) return found;
    throw invalid(`graph: value %${value.id} is used before it is made; validateGraph says where`);
  }

  counterparts(values: readonly Value[]): readonly Value[] {
    return values.map((value) => this.counterpart(value));
  }

  /** Maps a node's outputs to these values of the builder. */
  replace(node: AnyNode, outputs: readonly Value[]): void {
    for (const [index, output] of node.outputs.entries()) this.values.set(output, outputs[index] as Value);
  }

  /** The origin of a node, with the builder's name for its `forward` node. */
  origin({ origin }: AnyNode): Origin {
    const { forward } = origin;
    return forward === undefined ? origin : { ...origin, forward: this.names.get(forward) ?? forward };
  }

  /** Emits a copy of a node that reads `inputs`; returns the copy's outputs. */
  copy(
    node: AnyNode,
    origin: Origin = this.origin(node),
    inputs: readonly Value[] = this.counterparts(node.inputs),
  ): readonly Value[] {
    const outputs = this.builder.emit(node.op, inputs, node.attributes, origin);
    this.replace(node, outputs);
    this.names.set(node.name, this.builder.nodes.at(-1)?.name ?? node.name);
    return outputs;
  }

  /** Returns the new graph, whose outputs have the same names. */
  finish(): Graph {
    return this.builder.finish(
      new Map(this.#graph.outputs.map(({ name, value }) => [name, this.counterpart(value)])),
    );
  }
}
