// A model as plain data, as `encodeModel` takes it and `decodeModel` returns it: ONNX's own structure with our tensors and
// without protobuf. Parts of ONNX that it cannot hold are refused when a file is decoded, never dropped, except for hints
// about execution (device configurations, quantization annotations) and denotations.
import type { HostTensor } from "@mp/graph";
import type { ElementType } from "./element-type.js";

/** Strings by key, in the order of the file. A map read from a file has no prototype. */
export type StringMap = Readonly<Record<string, string>>;

export interface OnnxTensorType {
  readonly elementType: ElementType;
  /** Sizes, outermost first; an unknown size is a string, its name or `""`. Absent for an unknown rank. */
  readonly shape?: readonly (number | string)[];
}

export interface OnnxValueInfo {
  readonly name: string;
  readonly type?: OnnxTensorType;
  readonly metadata: StringMap;
}

/** An attribute of a node. Integers are bigint, like the elements of i64 tensors. */
export type OnnxAttribute =
  | { readonly kind: "float"; readonly value: number }
  | { readonly kind: "int"; readonly value: bigint }
  | { readonly kind: "string"; readonly value: string }
  | { readonly kind: "tensor"; readonly value: HostTensor }
  | { readonly kind: "graph"; readonly value: OnnxGraph }
  | { readonly kind: "floats"; readonly value: readonly number[] }
  | { readonly kind: "ints"; readonly value: readonly bigint[] }
  | { readonly kind: "strings"; readonly value: readonly string[] }
  | { readonly kind: "tensors"; readonly value: readonly HostTensor[] }
  | { readonly kind: "graphs"; readonly value: readonly OnnxGraph[] }
  /** In a function's body: the value of the attribute `value` of the node that calls the function. */
  | { readonly kind: "reference"; readonly value: string; readonly of: OnnxAttributeKind };

export type OnnxAttributeKind =
  | "float" | "int" | "string" | "tensor" | "graph" | "floats" | "ints" | "strings" | "tensors" | "graphs"; // biome-ignore format: one list

export type OnnxAttributes = Readonly<Record<string, OnnxAttribute>>;

export interface OnnxNode {
  readonly opType: string;
  /** `""` is ONNX's own domain; `ai.onnx` in a file is read as `""`. */
  readonly domain: string;
  /** May be empty. */
  readonly name: string;
  /** Operands by name; an empty name is an optional operand that is left out. */
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes: OnnxAttributes;
  readonly metadata: StringMap;
  /** Selects one of several functions with the same name. */
  readonly overload?: string;
}

export interface OnnxInitializer {
  readonly name: string;
  readonly tensor: HostTensor;
  /** The element type in the file, such as `UINT32`, if graphs lack it; `tensor` then has a dtype of the same size. */
  readonly elementType?: ElementType;
}

export interface OnnxGraph {
  readonly name: string;
  readonly inputs: readonly OnnxValueInfo[];
  readonly outputs: readonly OnnxValueInfo[];
  readonly initializers: readonly OnnxInitializer[];
  /** In files for other programs, a node follows those whose results it reads; engines may take any order. */
  readonly nodes: readonly OnnxNode[];
  /** Declared types of inner values; optional, because they can be inferred. */
  readonly valueInfos: readonly OnnxValueInfo[];
  readonly metadata: StringMap;
}

/** An operator that the model itself defines, by nodes. */
export interface OnnxFunction {
  readonly domain: string;
  readonly name: string;
  readonly overload?: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** Attributes that every call must give. */
  readonly attributes: readonly string[];
  /** Default values of the attributes that a call may omit. */
  readonly defaults: OnnxAttributes;
  readonly opsets: Readonly<Record<string, number>>;
  readonly nodes: readonly OnnxNode[];
  readonly metadata: StringMap;
}

export interface OnnxModel {
  readonly irVersion: number;
  /** The version of each domain's operator set; `""` is ONNX's own domain. */
  readonly opsets: Readonly<Record<string, number>>;
  readonly producerName: string;
  readonly producerVersion: string;
  readonly graph: OnnxGraph;
  readonly functions: readonly OnnxFunction[];
  readonly metadata: StringMap;
}

/** The operator set that this package writes. */
export const OPSET_VERSION = 23;

/** The IR version of ONNX 1.18, which introduced opset 23. */
export const IR_VERSION = 11;

/** Makes a node; parts that `rest` does not give are empty. */
export function onnxNode(
  opType: string,
  inputs: readonly string[],
  outputs: readonly string[],
  rest: Partial<Omit<OnnxNode, "opType" | "inputs" | "outputs">> = {},
): OnnxNode {
  return { domain: "", name: "", attributes: {}, metadata: {}, ...rest, opType, inputs, outputs };
}

/** Makes a graph; parts that `rest` does not give are empty. */
export function onnxGraph(name: string, rest: Partial<Omit<OnnxGraph, "name">> = {}): OnnxGraph {
  return {
    inputs: [],
    outputs: [],
    initializers: [],
    nodes: [],
    valueInfos: [],
    metadata: {},
    ...rest,
    name,
  };
}

/** Makes a model of ONNX's own operators at `OPSET_VERSION`, unless `rest` gives other operator sets. */
export function onnxModel(graph: OnnxGraph, rest: Partial<Omit<OnnxModel, "graph">> = {}): OnnxModel {
  return {
    irVersion: IR_VERSION,
    opsets: { "": OPSET_VERSION },
    producerName: "mp",
    producerVersion: "",
    functions: [],
    metadata: {},
    ...rest,
    graph,
  };
}

/** The graphs among a node's attributes. */
export function bodiesOf({ attributes }: OnnxNode): readonly OnnxGraph[] {
  return Object.values(attributes).flatMap((attribute) =>
    attribute.kind === "graph" ? [attribute.value] : [],
  );
}

/** Returns the attributes with `change` applied to each graph among them. */
export function mapBodies(
  attributes: OnnxAttributes,
  change: (body: OnnxGraph) => OnnxGraph,
): OnnxAttributes {
  if (!Object.values(attributes).some(({ kind }) => kind === "graph")) return attributes;
  return Object.fromEntries(
    Object.entries(attributes).map(([name, attribute]) => [
      name,
      attribute.kind === "graph" ? { kind: "graph", value: change(attribute.value) } : attribute,
    ]),
  );
}

/** An attribute of one f32. */
export const float = (value: number): OnnxAttribute => ({ kind: "float", value });
/** An attribute of one i64. */
export const int = (value: number | bigint): OnnxAttribute => ({ kind: "int", value: BigInt(value) });
/** An attribute of one UTF-8 text. */
export const string = (value: string): OnnxAttribute => ({ kind: "string", value });
/** An attribute of a list of f32. */
export const floats = (value: readonly number[]): OnnxAttribute => ({ kind: "floats", value });
/** An attribute of a list of i64. */
export const ints = (value: readonly (number | bigint)[]): OnnxAttribute => ({
  kind: "ints",
  value: value.map(BigInt),
});
