import { contentHash } from "../content-hash.js";
import type { Op } from "../graph/attributes.js";
import type { AnyNode, Graph, Phase, Value } from "../graph/graph.js";
import { isGraph } from "../graph/is-graph.js";
import { type HostTensor, isHostTensor } from "../host/host-tensor.js";
import { sameBytes } from "../same-bytes.js";

/**
 * Ops whose bits do not depend on the operand order. Max and Min are absent: given -0 and +0, engines return either.
 */
const COMMUTATIVE: ReadonlySet<Op> = new Set<Op>(["Add", "Mul", "And", "Or", "Xor", "Equal"]);

/** Nodes merge only within one part, because keeping a value longer often costs more than computing it again. */
const sides: Readonly<Record<Phase, string>> = {
  forward: "forward",
  loss: "forward",
  backward: "backward",
  update: "update",
};

/**
 * Merges nodes that compute the same value into the first of them. A Barrier is never merged, so that recomputed nodes
 * behind it stay apart from their forward copies. Nodes do not merge across `remat` segments, nor between the forward
 * pass, the backward pass and the update. Constants merge by content everywhere.
 */
export function eliminateCommonSubexpressions(graph: Graph): Graph {
  const contents = new ContentKeys();
  const representatives = new Map<string, AnyNode>();
  const replacements = new Map<Value, Value>();
  const replacement = (value: Value): Value => replacements.get(value) ?? value;
  const nodes: AnyNode[] = [];
  for (const node of graph.nodes) {
    const inputs = node.inputs.map(replacement);
    const key = node.op === "Barrier" ? undefined : nodeKey(node, inputs, contents);
    const first = key === undefined ? undefined : representatives.get(key);
    if (first === undefined) {
      const kept = inputs.every((input, index) => input === node.inputs[index])
        ? node
        : ({ ...node, inputs } as AnyNode);
      nodes.push(kept);
      if (key !== undefined) representatives.set(key, kept);
    } else {
      node.outputs.forEach((output, index) => {
        replacements.set(output, first.outputs[index] as Value);
      });
    }
  }
  if (nodes.length === graph.nodes.length) return graph;
  return Object.freeze({
    inputs: graph.inputs,
    nodes: Object.freeze(nodes),
    outputs: Object.freeze(graph.outputs.map(({ name, value }) => ({ name, value: replacement(value) }))),
  });
}

function nodeKey(node: AnyNode, inputs: readonly Value[], contents: ContentKeys): string {
  const operands = inputs.map((input) => input.id);
  if (COMMUTATIVE.has(node.op)) operands.sort((a, b) => a - b);
  const side = inputs.length === 0 ? "" : `${sides[node.origin.phase]} ${node.origin.segment ?? ""}`;
  const attributes = Object.entries(node.attributes)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}=${contents.contentKey(value)}`);
  return `${node.op}(${operands.join()})${side} ${attributes.join(" ")}`;
}

/** Makes strings that are equal for equal attribute values; tensors are compared byte by byte, each at most once. */
class ContentKeys {
  readonly #known = new Map<HostTensor, string>();
  readonly #graphs = new Map<object, number>();
  readonly #buckets = new Map<string, HostTensor[]>();

  contentKey(value: unknown): string {
    if (isHostTensor(value)) return this.#tensor(value);
    if (isGraph(value)) return this.#graph(value);
    if (Array.isArray(value)) return `[${value.map((item) => this.contentKey(item)).join()}]`;
    return Object.is(value, -0) ? "-0" : `${typeof value} ${String(value)}`;
  }

  /** A loop body equals only itself; a recomputed loop has the same body object as the forward loop. */
  #graph(graph: object): string {
    const number = this.#graphs.get(graph) ?? this.#graphs.size;
    this.#graphs.set(graph, number);
    return `graph ${number}`;
  }

  #tensor(tensor: HostTensor): string {
    const known = this.#known.get(tensor);
    if (known !== undefined) return known;
    const stem = `${tensor.dtype}[${tensor.shape.join()}]#${contentHash(tensor.data)}`;
    const bucket = this.#buckets.get(stem) ?? [];
    this.#buckets.set(stem, bucket);
    let index = bucket.findIndex((other) => sameBytes(other.data, tensor.data));
    if (index < 0) index = bucket.push(tensor) - 1;
    const key = `${stem}.${index}`;
    this.#known.set(tensor, key);
    return key;
  }
}
