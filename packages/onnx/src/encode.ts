import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { MpError } from "@mp/core";
import { codeOfElementType } from "./element-type.js";
import type {
  OnnxAttribute,
  OnnxAttributeKind,
  OnnxFunction,
  OnnxGraph,
  OnnxModel,
  OnnxNode,
  OnnxTensorType,
  OnnxValueInfo,
  StringMap,
} from "./model.js";
import {
  AttributeProto_AttributeType,
  type AttributeProtoSchema,
  type FunctionProtoSchema,
  type GraphProtoSchema,
  ModelProtoSchema,
  type NodeProtoSchema,
  TensorProto_DataLocation,
  type TensorProtoSchema,
  type TypeProtoSchema,
  type ValueInfoProtoSchema,
} from "./proto/onnx_pb.js";
import { tensorToProto } from "./tensor-proto.js";

/** Protobuf's size limit; readers use signed 32-bit sizes. */
const MAX_MODEL_BYTES = 2 ** 31 - 1;

/** Options of `encodeModel`. */
export interface EncodeOptions {
  /** Initializers whose data an engine gets apart from the model, by name and type: they are declared, without data. */
  readonly external?: readonly OnnxValueInfo[];
}

/**
 * A model as the bytes of an `.onnx` file. Tensor data is copied once.
 * @throws MP_OUT_OF_RANGE for more tensor data than fits in one protobuf
 */
export function encodeModel(
  model: OnnxModel,
  { external = [] }: EncodeOptions = {},
): Uint8Array<ArrayBuffer> {
  const dataBytes = model.graph.initializers.reduce((sum, { tensor }) => sum + tensor.data.byteLength, 0);
  if (dataBytes > MAX_MODEL_BYTES) {
    throw new MpError(
      "MP_OUT_OF_RANGE",
      `onnx: ${dataBytes} bytes of initialisers exceed a protobuf's ${MAX_MODEL_BYTES}, pass the large ones as inputs`,
      { details: { limit: MAX_MODEL_BYTES, value: dataBytes } },
    );
  }
  return toBinary(
    ModelProtoSchema,
    create(ModelProtoSchema, {
      irVersion: BigInt(model.irVersion),
      opsetImport: opsetImports(model.opsets),
      ...text("producerName", model.producerName),
      ...text("producerVersion", model.producerVersion),
      graph: graphInit(model.graph, external),
      functions: model.functions.map(functionInit),
      metadataProps: entries(model.metadata),
    }),
  );
}

/** An empty string is left out, as Python's writer does. */
function text<K extends string>(key: K, value: string | undefined): { readonly [P in K]?: string } {
  return value === undefined || value === "" ? {} : ({ [key]: value } as { readonly [P in K]: string });
}

function entries(map: StringMap): { key: string; value: string }[] {
  return Object.entries(map).map(([key, value]) => ({ key, value }));
}

function opsetImports(opsets: Readonly<Record<string, number>>): { domain: string; version: bigint }[] {
  return Object.entries(opsets).map(([domain, version]) => ({ domain, version: BigInt(version) }));
}

function graphInit(
  graph: OnnxGraph,
  external: readonly OnnxValueInfo[] = [],
): MessageInitShape<typeof GraphProtoSchema> {
  return {
    name: graph.name,
    input: graph.inputs.map(valueInfoInit),
    output: graph.outputs.map(valueInfoInit),
    initializer: [
      ...graph.initializers.map(({ name, tensor }) => tensorToProto(name, tensor)),
      ...external.map(externalInit),
    ],
    node: graph.nodes.map(nodeInit),
    valueInfo: graph.valueInfos.map(valueInfoInit),
    metadataProps: entries(graph.metadata),
  };
}

/** A location is obligatory; no file has this name. */
function externalInit({ name, type }: OnnxValueInfo): MessageInitShape<typeof TensorProtoSchema> {
  const sizes = type?.shape?.map(Number) ?? [];
  return {
    name,
    dataType: codeOfElementType(type?.elementType ?? "f32"),
    dims: sizes.map(BigInt),
    dataLocation: TensorProto_DataLocation.EXTERNAL,
    externalData: [{ key: "location", value: "elsewhere" }],
  };
}

function functionInit(body: OnnxFunction): MessageInitShape<typeof FunctionProtoSchema> {
  return {
    domain: body.domain,
    name: body.name,
    ...text("overload", body.overload),
    input: [...body.inputs],
    output: [...body.outputs],
    attribute: [...body.attributes],
    attributeProto: Object.entries(body.defaults).map(attributeInit),
    opsetImport: opsetImports(body.opsets),
    node: body.nodes.map(nodeInit),
    metadataProps: entries(body.metadata),
  };
}

function nodeInit(node: OnnxNode): MessageInitShape<typeof NodeProtoSchema> {
  return {
    opType: node.opType,
    ...text("domain", node.domain),
    ...text("name", node.name),
    ...text("overload", node.overload),
    input: [...node.inputs],
    output: [...node.outputs],
    attribute: Object.entries(node.attributes).map(attributeInit),
    metadataProps: entries(node.metadata),
  };
}

function valueInfoInit(info: OnnxValueInfo): MessageInitShape<typeof ValueInfoProtoSchema> {
  return {
    name: info.name,
    ...(info.type === undefined ? {} : { type: typeInit(info.type) }),
    metadataProps: entries(info.metadata),
  };
}

function typeInit({ elementType, shape }: OnnxTensorType): MessageInitShape<typeof TypeProtoSchema> {
  const elemType = codeOfElementType(elementType);
  const dim = shape?.map((size) => {
    if (typeof size === "number") return { value: { case: "dimValue" as const, value: BigInt(size) } };
    return size === "" ? {} : { value: { case: "dimParam" as const, value: size } };
  });
  return {
    value: { case: "tensorType", value: { elemType, ...(dim === undefined ? {} : { shape: { dim } }) } },
  };
}

/** ONNX's number for each kind of attribute. */
export const codeOfKind: Readonly<Record<OnnxAttributeKind, AttributeProto_AttributeType>> = {
  float: AttributeProto_AttributeType.FLOAT,
  int: AttributeProto_AttributeType.INT,
  string: AttributeProto_AttributeType.STRING,
  tensor: AttributeProto_AttributeType.TENSOR,
  graph: AttributeProto_AttributeType.GRAPH,
  floats: AttributeProto_AttributeType.FLOATS,
  ints: AttributeProto_AttributeType.INTS,
  strings: AttributeProto_AttributeType.STRINGS,
  tensors: AttributeProto_AttributeType.TENSORS,
  graphs: AttributeProto_AttributeType.GRAPHS,
};

const utf8 = new TextEncoder();

function attributeInit([name, attribute]: readonly [string, OnnxAttribute]): MessageInitShape<
  typeof AttributeProtoSchema
> {
  if (attribute.kind === "reference") {
    return { name, type: codeOfKind[attribute.of], refAttrName: attribute.value };
  }
  const base = { name, type: codeOfKind[attribute.kind] };
  switch (attribute.kind) {
    case "float":
      return { ...base, f: attribute.value };
    case "int":
      return { ...base, i: attribute.value };
    case "string":
      return { ...base, s: utf8.encode(attribute.value) };
    case "tensor":
      return { ...base, t: tensorToProto("", attribute.value) };
    case "graph":
      return { ...base, g: graphInit(attribute.value) };
    case "floats":
      return { ...base, floats: [...attribute.value] };
    case "ints":
      return { ...base, ints: [...attribute.value] };
    case "strings":
      return { ...base, strings: attribute.value.map((value) => utf8.encode(value)) };
    case "tensors":
      return { ...base, tensors: attribute.value.map((value) => tensorToProto("", value)) };
    case "graphs":
      return { ...base, graphs: attribute.value.map((body) => graphInit(body)) };
  }
}
