// A model as plain data, as `encodeModel` takes it and `decodeModel` returns it: ONNX's own structure with our tensors and
// without protobuf. Parts of ONNX that it cannot hold are refused when a file is decoded, never dropped, except for hints
// about execution (device configurations, quantization annotations) and denotations.
import type { HostTensor } from "@mp/graph";
import type { ElementType } from "./element-type.js";

/** Keys in the order of the file; a record read from a file has no prototype. */
export type StringMap = Readonly<Record<string, string>>;

export interface OnnxTensorType {
  readonly elementType: ElementType;
  /** Outermost first; a string names a size that is not known, `""` says nothing at all. Absent: no rank. */
  readonly shape?: readonly (number | string)[];
}

export interface OnnxValueInfo {
  readonly name: string;
  readonly type?: OnnxTensorType;
  readonly metadata: StringMap;
}

/** Integers are bigint, as i64 is everywhere on the host. */
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
  /** In a function's body: the attribute of that name of the node that calls it. */
  | { readonly kind: "reference"; readonly value: string; readonly of: OnnxAttributeKind };

export type OnnxAttributeKind =
  | "float" | "int" | "string" | "tensor" | "graph" | "floats" | "ints" | "strings" | "tensors" | "graphs"; // biome-ignore format: one list

export type OnnxAttributes = Readonly<Record<string, OnnxAttribute>>;

export interface OnnxNode {
  readonly opType: string;
  /** `""` is ONNX's own; read from a file, `ai.onnx` has become `""`. */
  readonly domain: string;
  /** May be empty. */
  readonly name: string;
  /** An empty name is an optional operand that is not given. */
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes: OnnxAttributes;
  readonly metadata: StringMap;
  /** Which of several functions of one name is called. */
  readonly overload?: string;
}

export interface OnnxInitializer {
  readonly name: string;
  readonly tensor: HostTensor;
  /** The file's name for the tensor's element type, of the same size, where the graph has no such dtype: `UINT32`. */
  readonly elementType?: ElementType;
}

export interface OnnxGraph {
  readonly name: string;
  readonly inputs: readonly OnnxValueInfo[];
  readonly outputs: readonly OnnxValueInfo[];
  readonly initializers: readonly OnnxInitializer[];
  /** Sorted by dependence in a file that others read; an engine may take any order. */
  readonly nodes: readonly OnnxNode[];
  /** Declared types of inner values; redundant, and may be empty. */
  readonly valueInfos: readonly OnnxValueInfo[];
  readonly metadata: StringMap;
}

/** A model's own operator, defined by nodes. */
export interface OnnxFunction {
  readonly domain: string;
  readonly name: string;
  readonly overload?: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** Attributes that every call must give. */
  readonly attributes: readonly string[];
  /** Attributes that a call may leave out. */
  readonly defaults: OnnxAttributes;
  readonly opsets: Readonly<Record<string, number>>;
  readonly nodes: readonly OnnxNode[];
  readonly metadata: StringMap;
}

export interface OnnxModel {
  readonly irVersion: number;
  /** Version of each domain's operator set; `""` is ONNX's own. */
  readonly opsets: Readonly<Record<string, number>>;
  readonly producerName: string;
  readonly producerVersion: string;
  readonly graph: OnnxGraph;
  readonly functions: readonly OnnxFunction[];
  readonly metadata: StringMap;
}

/** The operator set that this package writes. */
export const OPSET_VERSION = 23;

/** The IR version that came with opset 23, in ONNX 1.18. */
export const IR_VERSION = 11;

/** A node with everything optional left empty. */
export function onnxNode(
  opType: string,
  inputs: readonly string[],
  outputs: readonly string[],
  rest: Partial<Omit<OnnxNode, "opType" | "inputs" | "outputs">> = {},
): OnnxNode {
  return { domain: "", name: "", attributes: {}, metadata: {}, ...rest, opType, inputs, outputs };
}

/** A graph with everything optional left empty. */
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

/** A model of ONNX's own operators at `OPSET_VERSION`, unless told otherwise. */
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

/** The graphs that a node holds. */
export function bodiesOf({ attributes }: OnnxNode): readonly OnnxGraph[] {
  return Object.values(attributes).flatMap((attribute) =>
    attribute.kind === "graph" ? [attribute.value] : [],
  );
}

/** The attributes with each graph among them replaced. */
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
