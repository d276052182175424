import type { DType } from "../../dtype.js";
import { invalid, MpError } from "../../errors.js";
import { type HostTensor, literalTensor } from "../../host/host-tensor.js";
import { isLiteralInRange } from "../../host/literal.js";
import type { Op, OpAttributes } from "../attributes.js";
import { formatType } from "../format-type.js";
import type { AnyNode, Graph, GraphInput, GraphNode, InputRole, Origin, Value, ValueType } from "../graph.js";
import { inferTypes } from "../infer/infer.js";
import { expectKnownIndices } from "../known-indices.js";
import { GraphCopy } from "./graph-copy.js";

const TOP: Origin = { scope: "", phase: "forward" };

/**
 * Builds a graph node by node and infers every output's type. `parent` links a nested trace to the enclosing trace: a
 * value of an ancestor that is used inside becomes an input with role `capture`.
 */
export class GraphBuilder {
  readonly parent: GraphBuilder | undefined;
  /** The origin that `emit` gives to new nodes; the caller sets it. */
  origin: Origin = TOP;
  readonly #inputs: GraphInput[] = [];
  readonly #inputNames = new Set<string>();
  readonly #nodes: AnyNode[] = [];
  readonly #owned = new Set<Value>();
  readonly #names = new Map<string, number>();
  readonly #taken = new Set<string>();
  readonly #captures = new Map<Value, Value>();
  readonly #literals = new Map<string, Value>();
  #nextId = 0;

  constructor(parent?: GraphBuilder) {
    this.parent = parent;
  }

  /** @throws MP_INVALID_ARGUMENT for a name that is taken */
  input(name: string, type: ValueType, role: InputRole): Value {
    if (this.#inputNames.has(name)) {
      throw invalid(`graph: two inputs are named "${name}"`);
    }
    const value = this.#value(type);
    this.#inputNames.add(name);
    this.#inputs.push({ name, role, value });
    return value;
  }

  /**
   * Appends a node, named `name` if that is given and unused.
   * @throws the op's inference error: MP_SHAPE_MISMATCH, MP_DTYPE_MISMATCH, MP_INVALID_ARGUMENT; MP_OUT_OF_RANGE for
   *   indices out of range, if the graph determines them
   */
  emit<K extends Op>(
    op: K,
    inputs: readonly Value[],
    attributes: OpAttributes[K],
    origin: Origin = this.origin,
    name?: string,
  ): readonly Value[] {
    for (const input of inputs) {
      if (!this.#owned.has(input)) throw foreignValue(`${op}: an operand`);
    }
    const types = inferTypes(op, inputs, attributes);
    if (op === "Gather" || op === "GatherElements")
      expectKnownIndices(op, inputs, attributes as OpAttributes["Gather"], {
        makerOf: (value) => this.#nodes.findLast((node) => node.outputs.includes(value)),
        nameOf: (value) => this.#declarationOf(value)?.name,
      });
    const outputs = types.map((type) => this.#value(type));
    this.#nodes.push({
      op,
      name: this.#name(op, origin, name),
      inputs,
      outputs,
      attributes,
      origin,
    } as GraphNode as AnyNode);
    return outputs;
  }

  /** `emit` for ops with one output. */
  emitOne<K extends Op>(
    op: K,
    inputs: readonly Value[],
    attributes: OpAttributes[K],
    origin?: Origin,
  ): Value {
    const [output] = this.emit(op, inputs, attributes, origin);
    if (output === undefined) throw new Error(`internal: ${op} has no output`);
    return output;
  }

  constant(value: HostTensor): Value {
    return this.emitOne("Constant", [], { value });
  }

  /**
   * A number as a scalar constant, rounded once from f64; one per dtype, number and `remat` segment.
   * @throws MP_OUT_OF_RANGE for a number that the dtype cannot hold; see `isLiteralInRange`
   */
  literal(number: number, dtype: DType): Value {
    const key = `${dtype} ${Object.is(number, -0) ? "-0" : number} ${this.origin.segment ?? ""}`;
    const known = this.#literals.get(key);
    if (known !== undefined) return known;
    if (!isLiteralInRange(number, dtype)) {
      throw new MpError(
        "MP_OUT_OF_RANGE",
        `${number} has no finite value in ${dtype}, cast the tensor to a wider dtype`,
        {
          details: { number, dtype },
        },
      );
    }
    const value = this.emitOne("Constant", [], { value: literalTensor(number, dtype), literal: number });
    this.#literals.set(key, value);
    return value;
  }

  /** The value in this graph that stands for an ancestor's value; undefined if no ancestor owns it. */
  capture(value: Value): Value | undefined {
    if (this.#owned.has(value)) return value;
    const known = this.#captures.get(value);
    if (known !== undefined) return known;
    if (this.parent?.capture(value) === undefined) return undefined;
    // Inputs of a graph that is traced again may be captures of their own.
    let count = this.#captures.size;
    while (this.#inputs.some(({ name }) => name === `capture${count}`)) count++;
    const inner = this.input(`capture${count}`, value, "capture");
    this.#captures.set(value, inner);
    return inner;
  }

  /** Values of the enclosing graph, in the order of this graph's `capture` inputs. */
  get captured(): readonly Value[] {
    return [...this.#captures.keys()];
  }

  /** The role that an input was declared with, in an enclosing graph for a capture; undefined for other values. */
  roleOf(value: Value): InputRole | undefined {
    return this.#declarationOf(value)?.role;
  }

  #declarationOf(value: Value): GraphInput | undefined {
    const own = this.#captures.get(value) ?? value;
    const input = this.#inputs.find((candidate) => candidate.value === own);
    if (input?.role !== "capture") return input;
    for (const [outer, inner] of this.#captures)
      if (inner === own && this.parent) return this.parent.#declarationOf(outer);
    return undefined;
  }

  owns(value: Value): boolean {
    return this.#owned.has(value);
  }

  /**
   * Appends a copy of another graph's nodes, with its inputs replaced by values of this graph, in order.
   * @returns the counterparts of that graph's outputs, in order
   * @throws MP_INVALID_ARGUMENT for a value that is missing or of another graph, MP_SHAPE_MISMATCH and
   *   MP_DTYPE_MISMATCH for a value of another type than its input; appends nothing if it throws
   */
  inline(
    graph: Graph,
    inputs: readonly Value[],
    stamp: (origin: Origin) => Origin = (origin) => origin,
  ): readonly Value[] {
    const copy = this.inlineAll(graph, inputs, stamp);
    return graph.outputs.map(({ value }) => copy.counterpart(value));
  }

  /** Like `inline`, but returns the counterpart of every value and the new name of every node. */
  inlineAll(
    graph: Graph,
    inputs: readonly Value[],
    stamp: (origin: Origin) => Origin = (origin) => origin,
  ): GraphCopy {
    const copy = new GraphCopy(graph, this);
    graph.inputs.forEach((input, index) => {
      const value = inputs[index];
      expectInlined(input, value);
      if (!this.#owned.has(value)) throw foreignValue(`inline: the value for input "${input.name}"`);
      copy.values.set(input.value, value);
    });
    for (const node of graph.nodes) copy.copy(node, stamp(copy.origin(node)));
    return copy;
  }

  /** Returns the graph. A map keeps the order of output names that look like integers; a record does not. */
  finish(outputs: Readonly<Record<string, Value>> | ReadonlyMap<string, Value>): Graph {
    const entries = outputs instanceof Map ? [...outputs] : Object.entries(outputs as Record<string, Value>);
    return Object.freeze({
      inputs: Object.freeze([...this.#inputs]),
      nodes: Object.freeze([...this.#nodes]),
      outputs: Object.freeze(entries.map(([name, value]) => ({ name, value }))),
    });
  }

  /** The nodes emitted so far, in order. */
  get nodes(): readonly AnyNode[] {
    return this.#nodes;
  }

  #value(type: ValueType): Value {
    const value = Object.freeze({
      id: this.#nextId++,
      dtype: type.dtype,
      shape: Object.freeze([...type.shape]),
    });
    this.#owned.add(value);
    return value;
  }

  /** The wanted name if it is unused; otherwise scope, op and the next unused number. */
  #name(op: Op, origin: Origin, wanted: string | undefined): string {
    const stem = origin.scope === "" ? op : `${origin.scope}/${op}`;
    let name = wanted ?? stem;
    for (let count = this.#names.get(stem) ?? 0; this.#taken.has(name); ) {
      count++;
      this.#names.set(stem, count);
      name = `${stem}_${count}`;
    }
    this.#taken.add(name);
    return name;
  }
}

function expectInlined(
  { name, value: wanted }: GraphInput,
  value: Value | undefined,
): asserts value is Value {
  if (value === undefined) {
    throw invalid(`inline: there is no value for input "${name}"`);
  }
  if (formatType(value) === formatType(wanted)) return;
  throw new MpError(
    value.dtype === wanted.dtype ? "MP_SHAPE_MISMATCH" : "MP_DTYPE_MISMATCH",
    `inline: input "${name}" must be ${formatType(wanted)}, got ${formatType(value)}; reshape or cast the value first`,
    { details: { input: name } },
  );
}

function foreignValue(what: string): MpError<"MP_INVALID_ARGUMENT"> {
  return invalid(`${what} is a value of another graph; make it with this builder, or inline the other graph`);
}
