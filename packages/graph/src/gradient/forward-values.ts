import { isHalf } from "../dtype.js";
import type { GraphBuilder } from "../graph/build/builder.js";
import { type AnyNode, type Graph, isNode, type Origin, producers, type Value } from "../graph/graph.js";
import { customRules } from "./rules/custom.js";

/** A `remat` segment (a part of the forward pass that is recomputed) whose backward pass has begun. */
interface Segment {
  /** The gradient that arrived first; no value of the segment is recomputed before this gradient exists. */
  readonly gate: Value;
  /** Maps a forward value to its recomputed copy, or a value from outside that the segment reads to its barrier. */
  readonly copies: Map<Value, Value>;
}

/**
 * The values of a forward pass that backward rules read. Rules of nodes in a `remat` segment read copies of
 * the segment's values; other rules read the originals. Copies are made on demand, in forward order, and read
 * the segment's inputs through `Barrier(input, gate)`, so that neither common-subexpression elimination nor
 * an engine merges them with forward nodes. In the same way, parameters kept in a half dtype are widened
 * again, in all rules, so that their first f32 copies need not stay in memory until the backward pass.
 */
export class ForwardValues {
  readonly #builder: GraphBuilder;
  readonly #counterparts: ReadonlyMap<Value, Value>;
  readonly #origins: (node: AnyNode) => Origin;
  readonly #producers: ReadonlyMap<Value, AnyNode>;
  readonly #positions = new Map<AnyNode, number>();
  /** The node that carries the rule of each value with a custom gradient. */
  readonly #rules: ReadonlyMap<Value, AnyNode>;
  /** Keyed by segment number; copies of a widened parameter outside of segments are keyed by the parameter. */
  readonly #segments = new Map<number | Value, Segment>();
  /** Parameters kept in a half dtype. */
  readonly #halves: ReadonlySet<Value>;
  readonly #enclosing: number | undefined;

  /** `counterparts` maps the graph's values to the builder's; `origins` gives the origin of backward nodes. */
  constructor(
    builder: GraphBuilder,
    graph: Graph,
    counterparts: ReadonlyMap<Value, Value>,
    origins: (node: AnyNode) => Origin,
  ) {
    this.#builder = builder;
    this.#enclosing = builder.origin.segment;
    this.#counterparts = counterparts;
    this.#origins = origins;
    this.#producers = producers(graph);
    this.#rules = customRules(graph.nodes);
    const given = graph.inputs.map(({ value }) => value).filter(({ dtype }) => isHalf(dtype));
    this.#halves = new Set(given.filter((value) => builder.roleOf(this.#counterpart(value)) === "parameter"));
    graph.nodes.forEach((node, index) => {
      this.#positions.set(node, index);
    });
  }

  /** The node that makes a value of the forward graph. */
  producer(value: Value): AnyNode | undefined {
    return this.#producers.get(value);
  }

  /**
   * Returns the builder's value for `value` in the rule of `reader`. A recomputed copy waits for the gradient `gate`.
   */
  read(value: Value, reader: AnyNode, gate: Value): Value {
    const segment = this.#segmentOf(reader);
    if (!this.#halves.has(value) && !this.#isInside(value, segment)) return this.#counterpart(value);
    const key = segment ?? value;
    const begun = this.#segments.get(key) ?? { gate, copies: new Map() };
    this.#segments.set(key, begun);
    if (this.#halves.has(value) && !begun.copies.has(value))
      begun.copies.set(value, this.#gated(value, reader, gate));
    this.#recompute(value, segment, begun);
    return expectKnown(begun.copies, value);
  }

  /** The node's segment; undefined if it encloses the whole differentiated function, which is not recomputed here. */
  #segmentOf(node: AnyNode): number | undefined {
    const { segment } = node.origin;
    return segment === this.#enclosing ? undefined : segment;
  }

  /** Whether the value is recomputed: it is in the segment, or is a parameter widened from a half dtype. */
  #isInside(value: Value, segment: number | undefined): boolean {
    const node = this.#producers.get(value);
    if (node === undefined) return false;
    const widens = isNode(node, "Cast") && node.inputs.every((input) => this.#halves.has(input));
    return widens || (segment !== undefined && this.#segmentOf(node) === segment);
  }

  #recompute(wanted: Value, segment: number | undefined, { gate, copies }: Segment): void {
    const pending = new Set<AnyNode>();
    const stack: Value[] = [wanted];
    for (let value = stack.pop(); value !== undefined; value = stack.pop()) {
      const node = this.#producers.get(value);
      if (copies.has(value) || node === undefined || pending.has(node)) continue;
      pending.add(node);
      // The copy of a result gets its rule too, for a gradient of the gradient.
      const rule = this.#rules.get(value);
      if (rule !== undefined) pending.add(rule);
      for (const input of [...node.inputs, ...(rule?.inputs ?? [])]) {
        if (copies.has(input)) continue;
        if (this.#isInside(input, segment)) stack.push(input);
        else copies.set(input, this.#gated(input, node, gate));
      }
    }
    const position = (node: AnyNode): number => this.#positions.get(node) ?? 0;
    for (const node of [...pending].sort((a, b) => position(a) - position(b))) {
      const inputs = node.inputs.map((input) => expectKnown(copies, input));
      const [first] = inputs;
      // Values computed only from constants could otherwise be merged or computed early.
      if (first !== undefined && node.inputs.every((input) => this.#isConstant(input))) {
        inputs[0] = this.#barrier(first, node, gate);
      }
      const { custom } = node.origin;
      const origin = { ...this.#origins(node), ...(custom === undefined ? {} : { custom }) };
      const outputs = this.#builder.emit(node.op, inputs, node.attributes, origin);
      node.outputs.forEach((output, index) => {
        copies.set(output, outputs[index] as Value);
      });
    }
  }

  /** Puts a value behind a barrier. Constants need no barrier, because engines keep them in memory. */
  #gated(value: Value, reader: AnyNode, gate: Value): Value {
    return this.#isConstant(value)
      ? this.#counterpart(value)
      : this.#barrier(this.#counterpart(value), reader, gate);
  }

  #isConstant(value: Value): boolean {
    return this.#producers.get(value)?.inputs.length === 0;
  }

  #barrier(value: Value, reader: AnyNode, gate: Value): Value {
    return this.#builder.emitOne("Barrier", [value, gate], {}, this.#origins(reader));
  }

  #counterpart(value: Value): Value {
    return expectKnown(this.#counterparts, value);
  }
}

function expectKnown(map: ReadonlyMap<Value, Value>, value: Value): Value {
  const counterpart = map.get(value);
  if (counterpart === undefined) throw new Error(`internal: value %${value.id} has no counterpart`);
  return counterpart;
}
