import { type HostTensor, MpError, type Shape } from "@mp/core";
import type { GraphBuilder, Op, OpAttributes, Value, ValueType } from "@mp/core/graph";
import type { Invariant } from "../invariants.js";
import type { OnnxAttribute, OnnxGraph, OnnxNode } from "../model.js";
import { numbersOf, shortest } from "../numbers.js";
import { quote, refuse, withoutPrefix } from "../problem.js";
import type { BodyInput, Draw, NodeReader, NodeResult, ReadBody, ReadNode } from "./node/node-reader.js";
import type { ValueTable } from "./value-table.js";

/** Reads a body of the node. */
export type ReadBodyOf = (...body: Required<Parameters<NodeReader["body"]>>) => ReadBody;

/** How the nodes of a model get their random numbers. */
export interface Drawing {
  readonly dropsOut: boolean;
  readonly drawn: NodeReader["drawn"];
}

type AttributeValues = { readonly [A in OnnxAttribute as A["kind"]]: A["value"] };

/**
 * Reads one node, and refuses it when it says more than its reader asked for: an attribute or an operand that
 * nobody looked at would otherwise be lost silently.
 */
export class NodeReading implements NodeReader {
  readonly node: OnnxNode;
  readonly version: number;
  readonly isVerbatim: boolean;
  readonly #values: ValueTable;
  readonly #builder: GraphBuilder;
  readonly #readBody: ReadBodyOf | undefined;
  readonly #drawing: Drawing | undefined;
  readonly #attributesRead = new Set<string>();
  readonly #operandsRead = new Set<number>();

  constructor(
    node: OnnxNode,
    version: number,
    values: ValueTable,
    builder: GraphBuilder,
    isVerbatim: boolean,
    readBody?: ReadBodyOf,
    drawing?: Drawing,
  ) {
    this.#drawing = drawing;
    this.#readBody = readBody;
    this.node = node;
    this.version = version;
    this.isVerbatim = isVerbatim;
    this.#values = values;
    this.#builder = builder;
  }

  /** @throws MP_PARSE, MP_UNSUPPORTED naming op, version and node */
  run(read: ReadNode): readonly NodeResult[] {
    const results = this.#explained(() => read(this));
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

  get scope(): string {
    return this.#builder.origin.scope;
  }

  get operandCount(): number {
    return this.node.inputs.length;
  }

  isGiven(index: number): boolean {
    return (this.node.inputs[index] ?? "") !== "";
  }

  operand(index: number): Value {
    return this.#values.exact(this.#nameOf(index));
  }

  optional(index: number): Value | undefined {
    return this.isGiven(index) ? this.operand(index) : undefined;
  }

  narrow(index: number): Value | undefined {
    return this.#values.narrowOf(this.#nameOf(index));
  }

  indices(index: number): Value {
    return this.#values.indices(this.#nameOf(index));
  }

  sequence(index: number): readonly Value[] {
    return this.#values.sequenceOf(this.#nameOf(index));
  }

  typeOf(index: number): ValueType {
    return this.#values.typeOf(this.#nameOf(index));
  }

  constant(index: number): HostTensor | undefined {
    if (!this.isGiven(index)) return undefined;
    const name = this.#nameOf(index);
    return (
      this.#values.constantOf(name) ??
      this.unsupported(`computes operand ${index}, ${quote(name)}, here it has to be known beforehand`)
    );
  }

  known(index: number): HostTensor | undefined {
    return this.isGiven(index) ? this.#values.constantOf(this.#nameOf(index)) : undefined;
  }

  integers(index: number): readonly number[] | undefined {
    const tensor = this.constant(index);
    return tensor === undefined ? undefined : numbersOf(tensor);
  }

  hasAttribute(name: string): boolean {
    return this.node.attributes[name] !== undefined;
  }

  int(name: string, otherwise?: number): number {
    const value = this.#attribute(name, "int");
    return value === undefined ? this.#default(name, otherwise) : Number(value);
  }

  bigint(name: string): bigint {
    return this.#attribute(name, "int") ?? this.#default<bigint>(name, undefined);
  }

  ints(name: string): readonly number[] | undefined {
    return this.#attribute(name, "ints")?.map(Number);
  }

  bigints(name: string): readonly bigint[] | undefined {
    return this.#attribute(name, "ints");
  }

  float(name: string, otherwise?: number): number {
    const value = this.#attribute(name, "float");
    return value === undefined ? this.#default(name, otherwise) : shortest(value, "f32");
  }

  floats(name: string): readonly number[] | undefined {
    return this.#attribute(name, "floats");
  }

  string(name: string, otherwise: string): string {
    return this.#attribute(name, "string") ?? otherwise;
  }

  strings(name: string): readonly string[] | undefined {
    return this.#attribute(name, "strings");
  }

  tensor(name: string): HostTensor | undefined {
    return this.#attribute(name, "tensor");
  }

  graph(name: string): OnnxGraph {
    return this.#attribute(name, "graph") ?? this.#default<OnnxGraph>(name, undefined);
  }

  body(graph: OnnxGraph, inputs: readonly BodyInput[], captured: readonly Invariant[] = []): ReadBody {
    // Nodes with bodies are not folded.
    if (this.#readBody === undefined) return this.unsupported("has a body");
    return this.#readBody(graph, inputs, captured);
  }

  emit<K extends Op>(op: K, inputs: readonly Value[], attributes: OpAttributes[K]): readonly Value[] {
    return this.#builder.emit(op, inputs, attributes);
  }

  emitOne<K extends Op>(op: K, inputs: readonly Value[], attributes: OpAttributes[K]): Value {
    return this.#builder.emitOne(op, inputs, attributes);
  }

  get dropsOut(): boolean {
    return this.#drawing?.dropsOut === true;
  }

  drawn(draw: Draw, shape: Shape): Value | undefined {
    return this.#drawing?.drawn(draw, shape);
  }

  unsupported(reason: string): never {
    throw new MpError("MP_UNSUPPORTED", `onnx: ${this.#subject()} ${reason}`, { details: this.#details() });
  }

  #nameOf(index: number): string {
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
      refuse(
        "invalid-field",
        `${this.#subject()} has ${name} as ${attribute.kind}, not ${kind}`,
        this.#details(),
      );
    }
    return attribute.value as AttributeValues[K];
  }

  #default<T>(name: string, otherwise: T | undefined): T {
    return otherwise ?? refuse("missing-field", `${this.#subject()} lacks ${name}`, this.#details());
  }

  /** Explains that the vocabulary lacks what type inference refuses, although it may be sound ONNX. */
  #explained<T>(body: () => T): T {
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
