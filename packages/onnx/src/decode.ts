import { fromBinary } from "@bufbuild/protobuf";
import { MpError } from "@mp/graph";
import { arrayClassOf } from "@mp/graph/internal";
import { codeOfKind } from "./attribute-kinds.js";
import { type ElementType, elementTypeOfCode } from "./element-type.js";
import { substituteElementTypes } from "./element-type-substitution.js";
import type {
  OnnxAttribute,
  OnnxAttributeKind,
  OnnxAttributes,
  OnnxFunction,
  OnnxGraph,
  OnnxModel,
  OnnxNode,
  OnnxTensorType,
  OnnxValueInfo,
  StringMap,
} from "./model.js";
import { quote, refuse, unsupported } from "./problem.js";
import {
  type AttributeProto,
  type FunctionProto,
  type GraphProto,
  ModelProtoSchema,
  type NodeProto,
  type OperatorSetIdProto,
  type StringStringEntryProto,
  type TypeProto,
  type ValueInfoProto,
} from "./proto/onnx_pb.js";
import { expectReadAs, type ReadAs } from "./read-as.js";
import { inlineExternalData, type ReadExternalData } from "./read-external-data.js";
import { scanModel } from "./scan.js";
import { defaultScanLimits, type ScanLimits } from "./scan-limits.js";
import { dimension, expectRank, tensorFromProto } from "./tensor-proto.js";

export interface DecodeOptions extends Partial<ScanLimits> {
  /**
   * Reads tensor data that lies in other files. The paths come from the model and are checked to be below the
   * model's folder. Errors of this function are passed on.
   */
  readonly externalData?: ReadExternalData;
  /**
   * Substitutes for element types that a graph does not have: `{ DOUBLE: "f32" }` for a model into which an exporter
   * wrote a stray double, `{ INT8: "i32" }` for one whose results wrap around as 8 bits do. By default such types are
   * refused.
   */
  readonly readAs?: ReadAs;
}

/**
 * Decodes the bytes of an `.onnx` file, which may come from an untrusted source: limits are checked first.
 * @throws MP_INVALID_ARGUMENT for a value that is not a Uint8Array, such as the file's path
 * @throws MP_PARSE for bytes that are not a well-formed model or exceed a limit
 * @throws MP_UNSUPPORTED for valid models with sparse tensors, sequences, maps or training info, and with external
 *   data unless `externalData` reads it
 */
export function decodeModel(bytes: Uint8Array, options: DecodeOptions = {}): OnnxModel {
  const { externalData, readAs: given, ...limits } = options;
  if (arrayClassOf(bytes) !== "Uint8Array")
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      `decodeModel: takes the file's bytes, a Uint8Array, got ${arrayClassOf(bytes) ?? typeof bytes}: await readFile(path)`,
    );
  const readAs = expectReadAs("decodeModel: readAs", given);
  scanModel(bytes, limits);
  const proto = fromBinary(ModelProtoSchema, bytes, {
    readUnknownFields: false,
    recursionLimit: limits.maxDepth ?? defaultScanLimits.maxDepth,
  });
  const maxBytes = limits.maxTensorBytes ?? defaultScanLimits.maxTensorBytes;
  if (externalData !== undefined) inlineExternalData(proto, externalData, maxBytes);
  substituteElementTypes(proto, readAs);
  if (proto.graph === undefined) return refuse("missing-field", "the model has no graph");
  if (proto.trainingInfo.length > 0) unsupported("the model has training info");
  return {
    irVersion: small(proto.irVersion, "ir_version"),
    opsets: decodeOpsets(proto.opsetImport),
    producerName: proto.producerName,
    producerVersion: proto.producerVersion,
    graph: decodeGraph(proto.graph),
    functions: proto.functions.map(decodeFunction),
    metadata: decodeMap(proto.metadataProps, "the model"),
  };
}

function small(value: bigint, what: string): number {
  if (value < 0n || value > BigInt(Number.MAX_SAFE_INTEGER)) {
    refuse("invalid-field", `${what} is ${value}`);
  }
  return Number(value);
}

/** Makes an object without a prototype, so that a key such as `__proto__` is only a key. */
function record<T>(pairs: Iterable<readonly [string, T]>, what: string): Readonly<Record<string, T>> {
  const out = Object.create(null) as Record<string, T>;
  for (const [key, value] of pairs) {
    if (key in out) refuse("duplicate-name", `${what} has ${quote(key)} twice`);
    out[key] = value;
  }
  return out;
}

function decodeMap(entries: readonly StringStringEntryProto[], what: string): StringMap {
  return record(
    entries.map(({ key, value }) => [key, value] as const),
    `the metadata of ${what}`,
  );
}

/** Maps both spellings of ONNX's own domain, `ai.onnx` and the empty one, to `""`. */
function decodeDomain(domain: string): string {
  return domain === "ai.onnx" ? "" : domain;
}

function decodeOpsets(imports: readonly OperatorSetIdProto[]): Readonly<Record<string, number>> {
  return record(
    imports.map(
      ({ domain, version }) => [decodeDomain(domain), small(version, "an opset's version")] as const,
    ),
    "opset_import",
  );
}

function decodeGraph(proto: GraphProto): OnnxGraph {
  const what = `graph ${quote(proto.name)}`;
  if (proto.sparseInitializer.length > 0)
    unsupported(`${what} has sparse initializers, export them as dense ones`);
  return {
    name: proto.name,
    inputs: proto.input.map(decodeValueInfo),
    outputs: proto.output.map(decodeValueInfo),
    initializers: proto.initializer.map((tensor) => ({
      name: tensor.name,
      tensor: tensorFromProto(tensor, `initializer ${quote(tensor.name)}`),
    })),
    nodes: proto.node.map(decodeNode),
    valueInfos: proto.valueInfo.map(decodeValueInfo),
    metadata: decodeMap(proto.metadataProps, what),
  };
}

function decodeFunction(proto: FunctionProto): OnnxFunction {
  const what = `function ${quote(proto.name)}`;
  return {
    domain: decodeDomain(proto.domain),
    name: proto.name,
    ...decodeOverload(proto.overload),
    inputs: proto.input,
    outputs: proto.output,
    attributes: proto.attribute,
    defaults: decodeAttributes(proto.attributeProto, what),
    opsets: decodeOpsets(proto.opsetImport),
    nodes: proto.node.map(decodeNode),
    metadata: decodeMap(proto.metadataProps, what),
  };
}

const decodeOverload = (overload: string): { readonly overload?: string } =>
  overload === "" ? {} : { overload };

function decodeNode(proto: NodeProto): OnnxNode {
  const what = `node ${quote(proto.name === "" ? proto.opType : proto.name)}`;
  return {
    opType: proto.opType,
    domain: decodeDomain(proto.domain),
    name: proto.name,
    ...decodeOverload(proto.overload),
    inputs: proto.input,
    outputs: proto.output,
    attributes: decodeAttributes(proto.attribute, what),
    metadata: decodeMap(proto.metadataProps, what),
  };
}

function decodeValueInfo(proto: ValueInfoProto): OnnxValueInfo {
  return {
    name: proto.name,
    ...(proto.type === undefined ? {} : decodeType(proto.type, `value ${quote(proto.name)}`)),
    metadata: decodeMap(proto.metadataProps, `value ${quote(proto.name)}`),
  };
}

function decodeType({ value }: TypeProto, what: string): { readonly type?: OnnxTensorType } {
  if (value.case === undefined) return {};
  if (value.case !== "tensorType") return unsupported(`${what} is no tensor but a ${value.case}`);
  const elementType: ElementType | undefined = elementTypeOfCode(value.value.elemType);
  if (elementType === undefined) {
    return refuse("invalid-field", `${what} has element type ${value.value.elemType}, which does not exist`);
  }
  expectRank(value.value.shape?.dim.length ?? 0, what);
  const shape = value.value.shape?.dim.map(({ value: size }) =>
    size.case === "dimValue" ? dimension(size.value, what) : (size.value ?? ""),
  );
  return { type: { elementType, ...(shape === undefined ? {} : { shape }) } };
}

function decodeAttributes(protos: readonly AttributeProto[], what: string): OnnxAttributes {
  return record(
    protos.map((proto) => [proto.name, decodeAttribute(proto, what)] as const),
    `${what}'s list of attributes`,
  );
}

const kindOfCode = new Map<number, OnnxAttributeKind>(
  Object.entries(codeOfKind).map(([kind, code]) => [code, kind as OnnxAttributeKind]),
);

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decodeAttribute(proto: AttributeProto, node: string): OnnxAttribute {
  const what = `attribute ${quote(proto.name)} of ${node}`;
  const kind = kindOfCode.get(proto.type);
  if (proto.sparseTensor !== undefined)
    return unsupported(`${what} is a sparse tensor, export it as a dense one`);
  if (kind === undefined) return unsupported(`${what} has type ${proto.type}`);
  if (proto.refAttrName !== "") return { kind: "reference", value: proto.refAttrName, of: kind };
  switch (kind) {
    case "float":
      return { kind, value: proto.f };
    case "int":
      return { kind, value: proto.i };
    case "string":
      return { kind, value: decodeText(proto.s, what) };
    case "tensor":
      return { kind, value: tensorFromProto(present(proto.t, what), what) };
    case "graph":
      return { kind, value: decodeGraph(present(proto.g, what)) };
    case "floats":
      return { kind, value: proto.floats };
    case "ints":
      return { kind, value: proto.ints };
    case "strings":
      return { kind, value: proto.strings.map((value) => decodeText(value, what)) };
    case "tensors":
      return { kind, value: proto.tensors.map((value) => tensorFromProto(value, what)) };
    case "graphs":
      return { kind, value: proto.graphs.map(decodeGraph) };
  }
}

function present<T>(value: T | undefined, what: string): T {
  return value ?? refuse("missing-field", `${what} has no value`);
}

function decodeText(bytes: Uint8Array, what: string): string {
  try {
    return utf8.decode(bytes);
  } catch {
    return unsupported(`${what} is a string of bytes that are not UTF-8`);
  }
}
