/** Gives access to one ONNX node while it is read: its operands, its attributes, and a builder of the graph. */
import {
  type DType,
  type Graph,
  type GraphBuilder,
  type HostTensor,
  MpError,
  normalizeAxis,
  type Op,
  type OpAttributes,
  type Shape,
  scope,
  type Tensor,
  traceInto,
  type Value,
  type ValueType,
} from "@mp/graph";
import { elementTypeOfCode, isDType } from "../../element-type.js";
import type { Invariant } from "../../invariants.js";
import type { OnnxAttribute, OnnxGraph, OnnxNode } from "../../model.js";
import { onlyNumber, shortest, toNumbers } from "../../numbers.js";
import { quote, refuse, withoutPrefix } from "../../problem.js";
import { remedyFor } from "../../read-as.js";
import { inline } from "./inline.js";
import type { ValueTable } from "./value-table.js";

/**
 * One output of a node: a value of the graph; an i64 that the graph holds as i32, as it holds all indices; a
 * tensor that is known while reading; or a sequence of values, which exists only while reading.
 */
export type NodeResult =
  | Value
  | { readonly narrow: Value }
  | { readonly constant: HostTensor }
  | { readonly sequence: readonly Value[] };

/** Reads a node. @returns the outputs in order, maybe more than the node names */
export type ReadNode = (reader: NodeReader) => readonly NodeResult[];

export type ReaderTable<O extends Op = Op> = { readonly [K in O]: ReadNode };

/** An input of a body: a type, or a constant tensor. */
export type BodyInput = { readonly type: ValueType } | { readonly constant: HostTensor };

export interface ReadBody {
  /** The body as a graph. Its inputs are the `BodyInput`s that have a type, then the captured values. */
  readonly graph: Graph;
  /** The values of the surrounding graph that the body reads. */
  readonly captured: readonly Value[];
  /** The outputs that are constant, by index. */
  readonly known: ReadonlyMap<number, HostTensor>;
}

/** The random numbers that a node needs: a dropout mask, true where a value is kept, or noise in f32. */
export type Draw = { readonly kind: "mask"; readonly rate: number } | { readonly kind: "normal" | "uniform" };

/** Access to the graph around the node being read. Without `readBody`, nodes with a body are refused. */
export interface Surroundings {
  readonly values: ValueTable;
  readonly builder: GraphBuilder;
  readonly readBody?: NodeReader["body"];
  /** Whether dropouts drop values, as in training; the masks are then inputs. Default false. */
  readonly dropsOut?: boolean;
  readonly randomInput?: NodeReader["randomInput"];
}

/** Largest number of elements of a table that is computed while reading, so that a short file cannot demand much. */
const MAX_TABLE = 2 ** 24;

type AttributeValues = { readonly [A in OnnxAttribute as A["kind"]]: A["value"] };

/** A traced tensor for each value. */
type TensorsOf<V extends readonly Value[]> = { readonly [I in keyof V]: Tensor };

/**
 * Reads one node. It refuses attributes and operands that the op's `ReadNode` did not ask for, because to ignore them
 * would change the result silently.
 */
export class NodeReader {
  readonly node: OnnxNode;
  /** The version of the node's operator set. */
  readonly version: number;
  /** Whether this package wrote the node for a graph node of the same op, to be read back unchanged. */
  readonly isVerbatim: boolean;
  readonly #around: Surroundings;
  readonly #attributesRead = new Set<string>();
  readonly #operandsRead = new Set<number>();

  constructor(node: OnnxNode, version: number, isVerbatim: boolean, around: Surroundings) {
    this.node = node;
    this.version = version;
    this.isVerbatim = isVerbatim;
    this.#around = around;
  }

  /** Reads the node. @throws MP_PARSE, MP_UNSUPPORTED naming op, version and node */
  run(read: ReadNode): readonly NodeResult[] {
    const results = this.#explain(() => read(this));
    for (const name of Object.keys(this.node.attributes)) {
      if (!this.#attributesRead.has(name)) this.unsupported(`has the attribute ${quote(name)}`);
    }
    this.node.inputs.forEach((name, index) => {
      if (name !== "" && !this.#operandsRead.has(index))
        this.unsupported(`has operand ${index}, ${quote(name)}`);
    });
    this.node.outputs.forEach((name, index) => {
      if (name !== "" && results[index] === undefined)
        this.unsupported(`has output ${index}, ${quote(name)}`);
    });
    return results;
  }

  /** Number of operands in the file, including omitted ones. */
  get operandCount(): number {
    return this.node.inputs.length;
  }

  isGiven(index: number): boolean {
    return (this.node.inputs[index] ?? "") !== "";
  }

  /** The operand as a value in the model's dtype. @throws MP_PARSE if it is not given */
  operand(index: number): Value {
    return this.#around.values.exact(this.#name(index));
  }

  optional(index: number): Value | undefined {
    return this.isGiven(index) ? this.operand(index) : undefined;
  }

  /** The first `count` operands (default all), and of those after them, up to index `most`, the given ones. */
  operands(count: number = this.operandCount, most: number = count): readonly Value[] {
    return Array.from({ length: most }, (_, index) => index)
      .filter((index) => index < count || this.isGiven(index))
      .map((index) => this.operand(index));
  }

  /** The i32 value by which the graph holds an i64 operand; undefined if there is none. */
  narrow(index: number): Value | undefined {
    return this.#around.values.narrow(this.#name(index));
  }

  /** The operand as i32; an i64 value is cast. */
  indices(index: number): Value {
    return this.#around.values.indices(this.#name(index));
  }

  /** The values of an operand that is a sequence of tensors. */
  sequence(index: number): readonly Value[] {
    return this.#around.values.sequence(this.#name(index));
  }

  /** The operand's type in the model. Unlike `operand`, this does not add a constant to the graph. */
  type(index: number): ValueType {
    return this.#around.values.type(this.#name(index));
  }

  /** An operand that becomes an attribute in the graph. @throws MP_UNSUPPORTED if it is not constant */
  constant(index: number): HostTensor | undefined {
    if (!this.isGiven(index)) return undefined;
    const name = this.#name(index);
    return (
      this.#around.values.constant(name) ??
      this.unsupported(`computes operand ${index}, ${quote(name)}, here it has to be known beforehand`)
    );
  }

  /** The tensor of an operand that is given and constant; undefined otherwise. */
  peek(index: number): HostTensor | undefined {
    return this.isGiven(index) ? this.#around.values.constant(this.#name(index)) : undefined;
  }

  /** A constant operand as a list of integers; undefined if the operand is not given. */
  integers(index: number): readonly number[] | undefined {
    const tensor = this.constant(index);
    return tensor === undefined ? undefined : toNumbers(tensor);
  }

  /** A constant operand of one element as a number; undefined if the operand is not given. */
  number(index: number, what: string): number | undefined {
    const tensor = this.constant(index);
    if (tensor === undefined) return undefined;
    const value = onlyNumber(tensor);
    if (value !== undefined) return shortest(value, tensor.dtype);
    const found = tensor.data.length === 1 ? `${tensor.data[0]}` : `a tensor of [${tensor.shape.join(", ")}]`;
    return this.unsupported(`has ${found} for ${what}, here it is one number that f64 holds`);
  }

  hasAttribute(name: string): boolean {
    return this.node.attributes[name] !== undefined;
  }

  int(name: string, otherwise?: number): number {
    const value = this.#attribute(name, "int");
    return value === undefined ? this.#require(name, otherwise) : Number(value);
  }

  bigint(name: string): bigint {
    return this.#require(name, this.#attribute(name, "int"));
  }

  ints(name: string): readonly number[] | undefined {
    return this.#attribute(name, "ints")?.map(Number);
  }

  /** Like `ints`, but with all 64 bits. */
  bigints(name: string): readonly bigint[] | undefined {
    return this.#attribute(name, "ints");
  }

  float(name: string, otherwise?: number): number {
    const value = this.#attribute(name, "float");
    return value === undefined ? this.#require(name, otherwise) : shortest(value, "f32");
  }

  floats(name: string): readonly number[] | undefined {
    return this.#attribute(name, "floats");
  }

  string(name: string, otherwise: string): string {
    return this.#attribute(name, "string") ?? otherwise;
  }

  /** A string attribute, by default the first choice; other strings are refused. @param does verb of the refusal */
  choice<T extends string>(name: string, choices: readonly [T, ...T[]], does?: string): T {
    const given = this.string(name, choices[0]);
    const problem = does === undefined ? `has ${quote(given)} for ${name}` : `${does} ${quote(given)}`;
    return choices.find((known) => known === given) ?? this.unsupported(problem);
  }

  strings(name: string): readonly string[] | undefined {
    return this.#attribute(name, "strings");
  }

  tensor(name: string): HostTensor | undefined {
    return this.#attribute(name, "tensor");
  }

  graph(name: string): OnnxGraph {
    return this.#require(name, this.#attribute(name, "graph"));
  }

  /** An attribute that holds ONNX's code of a dtype. @throws MP_UNSUPPORTED for a type that graphs lack */
  dtype(name: string): DType {
    const code = this.int(name);
    const type = elementTypeOfCode(code);
    if (type === undefined) return this.unsupported(`makes element type ${code}`);
    if (!isDType(type)) return this.unsupported(`makes ${type}${remedyFor(type)}`);
    return type;
  }

  /** The attribute `axis` for a tensor of this rank; negative axes are counted from the end. */
  axis(rank: number, otherwise?: number): number {
    return this.fromFront(this.int("axis", otherwise), rank);
  }

  /**
   * Turns an axis that may count from the end into one from the front.
   * @throws MP_INVALID_ARGUMENT out of range
   */
  fromFront(axis: number, rank: number): number {
    return normalizeAxis(axis, rank, this.node.opType);
  }

  /** @throws MP_UNSUPPORTED for a table that is too large, or has an invalid size */
  expectTable(...sizes: readonly number[]): void {
    const elements = sizes.reduce((product, size) => product * size, 1);
    if (!sizes.every((size) => Number.isSafeInteger(size) && size >= 0) || elements > MAX_TABLE)
      this.unsupported(`needs a table of [${sizes.join(", ")}] numbers, here are at most ${MAX_TABLE}`);
  }

  /** Reads a graph among the node's attributes; each of its inputs has a type or is a constant tensor. */
  body(graph: OnnxGraph, inputs: readonly BodyInput[], captured: readonly Invariant[] = []): ReadBody {
    // Nodes with bodies are not folded.
    const { readBody } = this.#around;
    return readBody === undefined ? this.unsupported("has a body") : readBody(graph, inputs, captured);
  }

  emit<K extends Op>(op: K, inputs: readonly Value[], attributes: OpAttributes[K]): readonly Value[] {
    return this.#around.builder.emit(op, inputs, attributes);
  }

  emitOne<K extends Op>(op: K, inputs: readonly Value[], attributes: OpAttributes[K]): Value {
    return this.#around.builder.emitOne(op, inputs, attributes);
  }

  /** Emits the nodes of a graph, with `operands` for its inputs. @returns the values of its outputs */
  inline(graph: Graph, operands: readonly Value[]): readonly Value[] {
    return inline(graph, operands, ({ op }, inputs, attributes) =>
      this.emit(op, inputs, attributes as never),
    );
  }

  /** Emits the nodes of a function of graph operators that is applied to the operands. */
  compose<const V extends readonly Value[]>(
    operands: V,
    fn: (...operands: TensorsOf<V>) => Tensor,
  ): readonly [Value] {
    return this.composeAll(operands, (...tensors) => [fn(...tensors)]) as readonly [Value];
  }

  /** Like `compose`, for a function with several results. */
  composeAll<const V extends readonly Value[]>(
    operands: V,
    fn: (...operands: TensorsOf<V>) => readonly Tensor[],
  ): readonly Value[] {
    const inputs = operands.map((type, index) => ({ name: `x${index}`, role: "batch" as const, type }));
    const { scope: path } = this.#around.builder.origin;
    // Bodies of loops keep the origins of their nodes.
    const { graph } = traceInto(inputs, (tensors) => {
      const run = (): readonly Tensor[] => fn(...(tensors as unknown as TensorsOf<V>));
      return path === "" ? run() : scope(path, run);
    });
    return this.inline(graph, operands);
  }

  get dropsOut(): boolean {
    return this.#around.dropsOut === true;
  }

  /** The node's random numbers as an input of the graph; undefined if the graph draws them itself. */
  randomInput(draw: Draw, shape: Shape): Value | undefined {
    return this.#around.randomInput?.(draw, shape);
  }

  /** Refuses the node; the message names op, version and node before `reason`. */
  unsupported(reason: string): never {
    throw new MpError("MP_UNSUPPORTED", `onnx: ${this.#subject()} ${reason}`, { details: this.#details() });
  }

  #name(index: number): string {
    this.#operandsRead.add(index);
    const name = this.node.inputs[index] ?? "";
    if (name === "") refuse("missing-field", `${this.#subject()} lacks operand ${index}`, this.#details());
    return name;
  }

  #attribute<K extends keyof AttributeValues>(name: string, kind: K): AttributeValues[K] | undefined {
    this.#attributesRead.add(name);
    const attribute = this.node.attributes[name];
    if (attribute === undefined) return undefined;
    if (attribute.kind !== kind) {
      const message = `${this.#subject()} has ${name} as ${attribute.kind}, not ${kind}`;
      refuse("invalid-field", message, this.#details());
    }
    return attribute.value as AttributeValues[K];
  }

  #require<T>(name: string, value: T | undefined): T {
    return value ?? refuse("missing-field", `${this.#subject()} lacks ${name}`, this.#details());
  }

  /** Adds the node to errors of type inference, as MP_UNSUPPORTED, because the node may be valid ONNX. */
  #explain<T>(body: () => T): T {
    try {
      return body();
    } catch (error) {
      const namesNode = MpError.is(error) && "node" in error.details;
      if (!MpError.is(error) || namesNode || MpError.is(error, "MP_PARSE")) throw error;
      throw new MpError("MP_UNSUPPORTED", `onnx: ${this.#subject()}: ${withoutPrefix(error)}`, {
        details: this.#details(),
        cause: error,
      });
    }
  }

  #subject(): string {
    const { opType, name, domain, outputs } = this.node;
    const label = name === "" ? `makes ${quote(outputs[0] ?? "")}` : `node ${quote(name)}`;
    const op = domain === "" ? opType : `${domain}.${opType}`;
    return `${op.length > 80 ? quote(op) : op} of opset ${this.version} (${label})`;
  }

  #details(): Readonly<Record<string, unknown>> {
    const { opType, domain, name } = this.node;
    return { op: opType, domain, version: this.version, node: name };
  }
}
