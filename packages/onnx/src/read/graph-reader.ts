import {
  formatType,
  type Graph,
  GraphBuilder,
  type GraphOutput,
  type HostTensor,
  isFloat,
  MpError,
  type Origin,
  type Shape,
  sameShape,
  type Value,
} from "@mp/graph";
import { isDType } from "../element-type.js";
import { type Invariant, parseRole } from "../invariants.js";
import { literals } from "../literals.js";
import { HELPER_KEY, LITERAL_KEY, NAME_KEY, originFromMetadata, ROLE_KEY } from "../metadata-keys.js";
import type { OnnxGraph, OnnxModel, OnnxNode, OnnxValueInfo } from "../model.js";
import { toNumbers } from "../numbers.js";
import { quote, refuse, unsupported } from "../problem.js";
import { remedyFor } from "../read-as.js";
import { FOLD_BUDGET, foldNode } from "./fold.js";
import { decideRole, type InitializerRole, InitializerRoles } from "./initializer-roles.js";
import { moduleScope } from "./module-scope.js";
import {
  type BodyInput,
  type Draw,
  NodeReader,
  type NodeResult,
  type ReadBody,
  type ReadNode,
} from "./node/node-reader.js";
import { ValueTable } from "./node/value-table.js";
import type { InnerReadOptions } from "./read-options.js";
import { findReader } from "./readers.js";

const NOT_READ =
  "is not read; export the model with operators of docs/onnx-operators.md in its place, or compute what it gives outside the model";

/** Reads the graph of a model, or one body in it; use a new reader for each. */
export class GraphReader {
  readonly #model: OnnxModel;
  readonly #options: InnerReadOptions;
  readonly #sizes: ReadonlyMap<string, number>;
  readonly #builder = new GraphBuilder();
  readonly #values: ValueTable;
  /** New names of the nodes that this package wrote, by the name in the file. */
  readonly #names = new Map<string, string>();
  /** Roles of float initializers, in file order, then of float Constant nodes that are not scalars. */
  readonly roles: InitializerRole[];
  readonly #byStructure: InitializerRoles;
  readonly #foldBudget: { left: number };
  readonly #isBody: boolean;
  /** The random numbers that the graph takes as inputs, by input name. */
  readonly draws: Map<string, Draw> = new Map();

  /** @param around the reader of the surrounding graph, if this one reads a body */
  constructor(model: OnnxModel, options: InnerReadOptions, around?: GraphReader) {
    this.#model = model;
    this.#options = options;
    this.#sizes = new Map(Object.entries(options.sizes ?? {}));
    this.#isBody = around !== undefined;
    this.#values = new ValueTable(this.#builder, around === undefined ? undefined : around.#values);
    this.roles = around?.roles ?? [];
    this.#byStructure =
      around === undefined ? new InitializerRoles(model.graph, model.producerName) : around.#byStructure;
    this.#foldBudget = around === undefined ? { left: FOLD_BUDGET } : around.#foldBudget;
  }

  get parameters(): ReadonlyMap<string, HostTensor> {
    return this.#values.parameters;
  }

  read(): Graph {
    const { graph } = this.#model;
    this.#initializers(graph);
    // Before IR version 4 initializers had to be inputs as well.
    for (const input of graph.inputs) if (!this.#values.has(input.name)) this.#input(input);
    for (const node of graph.nodes) this.#node(node);
    const outputs = graph.outputs.map((output) => this.#output(output));
    // `finish` takes a record, which would sort outputs whose names are integers.
    return Object.freeze({ ...this.#builder.finish({}), outputs: Object.freeze(outputs) });
  }

  #initializers({ initializers }: OnnxGraph): void {
    for (const { name, tensor } of initializers)
      this.#values.defineConstant(name, tensor, this.#isTrained(name, tensor));
  }

  #body(graph: OnnxGraph, inputs: readonly BodyInput[], captured: readonly Invariant[] = []): ReadBody {
    return new GraphReader(this.#model, this.#options, this).#readBody(graph, inputs, captured);
  }

  #readBody(graph: OnnxGraph, inputs: readonly BodyInput[], captured: readonly Invariant[]): ReadBody {
    if (graph.inputs.length !== inputs.length) {
      refuse(
        "invalid-field",
        `graph ${quote(graph.name)} has ${graph.inputs.length} inputs, its node gives it ${inputs.length}`,
      );
    }
    this.#initializers(graph);
    graph.inputs.forEach(({ name, metadata }, index) => {
      const given = inputs[index] as BodyInput;
      if ("constant" in given) {
        this.#values.defineConstant(name, given.constant, false);
        return;
      }
      const role = parseRole(metadata[ROLE_KEY]) ?? "capture";
      this.#values.defineValue(name, this.#builder.input(metadata[NAME_KEY] ?? name, given.type, role));
    });
    for (const [outer, name, role] of captured) this.#values.capture(outer, name, role);
    for (const node of graph.nodes) this.#node(node);
    const known = new Map<number, HostTensor>();
    graph.outputs.forEach(({ name }, index) => {
      const constant = this.#values.constant(name);
      if (constant !== undefined) known.set(index, constant);
    });
    const outputs = graph.outputs.map((output) => this.#output(output));
    const read = Object.freeze({ ...this.#builder.finish({}), outputs: Object.freeze(outputs) });
    return { graph: read, captured: this.#values.captures, known };
  }

  /** Decides whether an initializer or Constant node is a parameter, and records the reason. */
  #isTrained(
    name: string,
    tensor: HostTensor,
    byDefault: InitializerRole = { name, ...this.#byStructure.of(name, tensor) },
  ): boolean {
    const role = decideRole(name, tensor, byDefault, this.#options.isParameter);
    if (isFloat(tensor.dtype)) this.roles.push(role);
    return role.isParameter;
  }

  /** Decides whether a Constant node is a parameter. Constants that this package wrote stay constants. */
  #isTrainedConstant(name: string, tensor: HostTensor, node: OnnxNode, isVerbatim: boolean): boolean {
    const isHelper = node.metadata[HELPER_KEY] !== undefined;
    if (node.opType !== "Constant" || node.domain !== "" || isHelper) return false;
    // Scalars are numbers in formulas, as exporters write them.
    if (!isFloat(tensor.dtype) || tensor.shape.length === 0) return false;
    const written = { name, isParameter: false, reason: "a constant of the graph that was written" };
    return this.#isTrained(name, tensor, isVerbatim ? written : undefined);
  }

  #input({ name, type, metadata }: OnnxValueInfo): void {
    const what = `input ${quote(name)}`;
    const { elementType, shape: sizes } = type ?? {};
    if (elementType === undefined || sizes === undefined) {
      unsupported(`${what} has no declared shape`);
    }
    if (!isDType(elementType)) {
      unsupported(`${what} is ${elementType}, which has no counterpart here${remedyFor(elementType)}`);
    }
    const shape = sizes.map((size, axis) => this.#size(size, `${name}[${axis}]`, what));
    const role = parseRole(metadata[ROLE_KEY]) ?? "batch";
    const isNarrow = elementType === "i64" && this.#options.narrowInputs?.has(name) === true;
    const dtype = isNarrow ? "i32" : elementType;
    const value = this.#builder.input(metadata[NAME_KEY] ?? name, { dtype, shape }, role);
    if (isNarrow) this.#values.defineNarrow(name, value);
    else this.#values.defineValue(name, value);
  }

  #size(size: number | string, key: string, what: string): number {
    if (typeof size === "number") return size;
    const given = this.#sizes.get(size === "" ? key : size) ?? this.#sizes.get(key);
    if (given !== undefined) return given;
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      `onnx: ${what} leaves a size open, pass sizes: { ${quote(size === "" ? key : size)}: … }`,
      { details: { size: size === "" ? key : size } },
    );
  }

  #output({ name, type, metadata }: OnnxValueInfo): GraphOutput {
    const value = this.#values.exact(name);
    const declared = type?.shape?.map((size, axis) =>
      typeof size === "number" ? size : (this.#sizes.get(size) ?? (value.shape[axis] as number)),
    );
    if (type !== undefined) {
      const isOfShape = sameShape(declared ?? value.shape, value.shape);
      const message = `output ${quote(name)} is declared ${type.elementType}[${declared ?? ""}] and is ${formatType(value)}`;
      if (type.elementType !== value.dtype) refuse("invalid-field", message, { value: name });
      // Tools that cut or change a model may leave an outdated shape; ONNX Runtime warns of it too.
      if (!isOfShape)
        this.#options.onWarning?.({ type: "data", message: `onnx: ${message}`, details: { name } });
    }
    return { name: metadata[NAME_KEY] ?? name, value };
  }

  #node(node: OnnxNode): void {
    const origin = originFromMetadata(node.metadata);
    const isHelper = node.metadata[HELPER_KEY] !== undefined;
    if (isHelper && origin === undefined && node.opType === "Identity") {
      this.#values.defineAlias(node.outputs[0] ?? "", node.inputs[0] ?? "");
      return;
    }
    const version = this.#version(node);
    const read = findReader(node.domain, node.opType);
    const isVerbatim = origin !== undefined && !isHelper;
    this.#builder.origin = this.#origin(node, origin);
    const reader: NodeReader = new NodeReader(node, version, isVerbatim, {
      values: this.#values,
      builder: this.#builder,
      readBody: (...body) => this.#body(...body),
      dropsOut: this.#options.dropsOut === true,
      randomInput: (draw, shape) => this.#randomInput(node, draw, shape),
    });
    if (read === undefined) reader.unsupported(NOT_READ);
    const folded = origin === undefined ? this.#fold(node, version, read) : undefined;
    const before = this.#builder.nodes.length;
    const results = folded?.map((constant) => ({ constant })) ?? reader.run(read);
    node.outputs.forEach((name, index) => {
      if (name !== "") this.#define(name, results[index] as NodeResult, node, isVerbatim);
    });
    const emitted = this.#builder.nodes.at(-1);
    if (isVerbatim && emitted !== undefined && this.#builder.nodes.length > before) {
      this.#names.set(node.name, emitted.name);
    }
  }

  #randomInput({ opType, outputs: [name = ""] }: OnnxNode, draw: Draw, shape: Shape): Value | undefined {
    if (this.#isBody)
      unsupported(`${opType} ${quote(name)} is in a loop, where each step would get the same random numbers`);
    if (this.#options.drawsAreInputs !== true) return undefined;
    const input = `${name}/${draw.kind}`;
    this.draws.set(input, draw);
    return this.#builder.input(input, { dtype: draw.kind === "mask" ? "bool" : "f32", shape }, "batch");
  }

  #fold(node: OnnxNode, version: number, read: ReadNode): readonly HostTensor[] | undefined {
    const { folds } = this.#options;
    const [name = ""] = node.outputs;
    const decided = folds?.get(name);
    if (this.#foldBudget.left <= 0 || decided === false) return undefined;
    const folded = foldNode(node, version, read, this.#values, decided);
    if (decided === undefined) folds?.set(name, folded !== undefined);
    for (const { data } of folded ?? []) this.#foldBudget.left -= data.length;
    return folded;
  }

  #define(name: string, result: NodeResult, node: OnnxNode, isVerbatim: boolean): void {
    if ("narrow" in result) this.#values.defineNarrow(name, result.narrow);
    else if ("sequence" in result) this.#values.defineSequence(name, result.sequence);
    else if ("constant" in result) this.#defineConstant(name, result.constant, node, isVerbatim);
    else this.#values.defineValue(name, result);
  }

  #defineConstant(name: string, constant: HostTensor, node: OnnxNode, isVerbatim: boolean): void {
    const isTrained = this.#isTrainedConstant(name, constant, node, isVerbatim);
    if (isTrained || !isVerbatim) this.#values.defineConstant(name, constant, isTrained);
    else {
      const literal = readLiteral(node, constant);
      const attributes = { value: constant, ...(literal === undefined ? {} : { literal }) };
      this.#values.defineValue(name, this.#builder.emitOne("Constant", [], attributes));
    }
  }

  #version({ domain, opType }: OnnxNode): number {
    const version = this.#model.opsets[domain];
    if (version !== undefined) return version;
    return refuse(
      "missing-field",
      `${opType} is of domain ${quote(domain)}, which opset_import does not have`,
    );
  }

  #origin(node: OnnxNode, written: Origin | undefined): Origin {
    if (written === undefined) return { scope: moduleScope(node), phase: "forward" };
    const { forward } = written;
    return forward === undefined ? written : { ...written, forward: this.#names.get(forward) ?? forward };
  }
}

/** The number before rounding, from a Constant's metadata; undefined if it does not round to the tensor. */
function readLiteral({ metadata }: OnnxNode, tensor: HostTensor): number | undefined {
  const text = metadata[LITERAL_KEY];
  if (text === undefined || tensor.shape.length > 0) return undefined;
  const literal = Number(text);
  try {
    const [rounded] = toNumbers(literals([literal], tensor.dtype, []));
    return Object.is(rounded, toNumbers(tensor)[0]) ? literal : undefined;
  } catch (error) {
    if (MpError.is(error, "MP_OUT_OF_RANGE")) return undefined;
    throw error;
  }
}
