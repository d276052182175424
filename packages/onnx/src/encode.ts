import { type HostTensor, MpError } from "@mp/graph";
import { codeOfKind } from "./attribute-kinds.js";
import { codeOfElementType } from "./element-type.js";
import { requireLittleEndian } from "./little-endian.js";
import { Message } from "./message.js";
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

/** Protobuf's size limit, because readers hold sizes in signed 32-bit integers. */
const MAX_MODEL_BYTES = 2 ** 31 - 1;

/** Data that `encodeModel` leaves out of the bytes. */
export interface EncodeOptions {
  /** Initializers to declare without data, by name and type, since an engine gets their data apart from the model. */
  readonly external?: readonly OnnxValueInfo[];
}

/**
 * Encodes a model as the bytes of an `.onnx` file, without checking its structure.
 * @throws MP_OUT_OF_RANGE for a model too large for one protobuf, and for a number that its attribute cannot hold
 */
export function encodeModel(
  model: OnnxModel,
  { external = [] }: EncodeOptions = {},
): Uint8Array<ArrayBuffer> {
  const message = modelMessage(model, external);
  checkSize(message.dataBytes);
  const bytes = message.toBytes();
  checkSize(bytes.length);
  return bytes;
}

function checkSize(bytes: number): void {
  if (bytes <= MAX_MODEL_BYTES) return;
  throw new MpError(
    "MP_OUT_OF_RANGE",
    `onnx: a model of ${bytes} bytes exceeds a protobuf's ${MAX_MODEL_BYTES}, pass the large initializers as inputs`,
    { details: { limit: MAX_MODEL_BYTES, value: bytes } },
  );
}

// Field numbers below are those of `proto/onnx.proto`. Empty optional strings are left out, as Python's
// writer does.

function modelMessage(model: OnnxModel, external: readonly OnnxValueInfo[]): Message {
  const message = new Message().integer(1, model.irVersion);
  optionalText(message, 2, model.producerName);
  optionalText(message, 3, model.producerVersion);
  return message
    .message(7, graphMessage(model.graph, external))
    .messages(8, opsetMessages(model.opsets))
    .messages(14, entryMessages(model.metadata))
    .messages(25, model.functions.map(functionMessage));
}

function optionalText(message: Message, field: number, value = ""): void {
  if (value !== "") message.text(field, value);
}

function entryMessages(map: StringMap): readonly Message[] {
  return Object.entries(map).map(([key, value]) => new Message().text(1, key).text(2, value));
}

function opsetMessages(opsets: OnnxModel["opsets"]): readonly Message[] {
  return Object.entries(opsets).map(([domain, version]) => new Message().text(1, domain).integer(2, version));
}

function graphMessage(graph: OnnxGraph, external: readonly OnnxValueInfo[] = []): Message {
  return new Message()
    .messages(1, graph.nodes.map(nodeMessage))
    .text(2, graph.name)
    .messages(
      5,
      graph.initializers.map(({ name, tensor, elementType }) => tensorMessage(name, tensor, elementType)),
    )
    .messages(5, external.map(externalMessage))
    .messages(11, graph.inputs.map(valueInfoMessage))
    .messages(12, graph.outputs.map(valueInfoMessage))
    .messages(13, graph.valueInfos.map(valueInfoMessage))
    .messages(16, entryMessages(graph.metadata));
}

function tensorMessage(
  name: string,
  { dtype, shape, data }: HostTensor,
  elementType: OnnxTensorType["elementType"] = dtype,
): Message {
  requireLittleEndian();
  return tensorHeader(elementType, shape)
    .text(8, name)
    .bytes(9, new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
}

/** Declares an initializer without data. ONNX requires a location, so it names a file that does not exist. */
function externalMessage({ name, type }: OnnxValueInfo): Message {
  return tensorHeader(type?.elementType ?? "f32", type?.shape?.map(Number) ?? [])
    .text(8, name)
    .messages(13, entryMessages({ location: "elsewhere" }))
    .integer(14, EXTERNAL);
}

/** `TensorProto.DataLocation`. */
const EXTERNAL = 1;

function tensorHeader(elementType: OnnxTensorType["elementType"], shape: readonly number[]): Message {
  const message = new Message();
  for (const size of shape) message.integer(1, size);
  return message.integer(2, codeOfElementType(elementType));
}

function nodeMessage(node: OnnxNode): Message {
  const message = new Message().texts(1, node.inputs).texts(2, node.outputs);
  optionalText(message, 3, node.name);
  message.text(4, node.opType).messages(5, attributeMessages(node.attributes));
  optionalText(message, 7, node.domain);
  optionalText(message, 8, node.overload);
  return message.messages(9, entryMessages(node.metadata));
}

function functionMessage(body: OnnxFunction): Message {
  const message = new Message()
    .text(1, body.name)
    .texts(4, body.inputs)
    .texts(5, body.outputs)
    .texts(6, body.attributes)
    .messages(7, body.nodes.map(nodeMessage))
    .messages(9, opsetMessages(body.opsets))
    .text(10, body.domain)
    .messages(11, attributeMessages(body.defaults));
  optionalText(message, 13, body.overload);
  return message.messages(14, entryMessages(body.metadata));
}

function valueInfoMessage({ name, type, metadata }: OnnxValueInfo): Message {
  const message = new Message().text(1, name);
  if (type !== undefined) message.message(2, new Message().message(1, tensorTypeMessage(type)));
  return message.messages(4, entryMessages(metadata));
}

function tensorTypeMessage({ elementType, shape }: OnnxTensorType): Message {
  const message = new Message().integer(1, codeOfElementType(elementType));
  if (shape !== undefined) message.message(2, new Message().messages(1, shape.map(dimensionMessage)));
  return message;
}

function dimensionMessage(size: number | string): Message {
  const message = new Message();
  if (typeof size === "number") message.integer(1, size);
  else optionalText(message, 2, size);
  return message;
}

function attributeMessages(attributes: OnnxFunction["defaults"]): readonly Message[] {
  return Object.entries(attributes).map(([name, attribute]) => attributeMessage(name, attribute));
}

function attributeMessage(name: string, attribute: OnnxAttribute): Message {
  const message = new Message().text(1, name);
  if (attribute.kind === "reference")
    return message.integer(20, codeOfKind[attribute.of]).text(21, attribute.value);
  const append = appendRules[attribute.kind] as (message: Message, value: unknown) => void;
  append(message, attribute.value);
  return message.integer(20, codeOfKind[attribute.kind]);
}

type AppendRules = {
  readonly [K in OnnxAttributeKind]: (
    message: Message,
    value: Extract<OnnxAttribute, { readonly kind: K }>["value"],
  ) => void;
};

const appendRules: AppendRules = {
  float: (message, value) => message.float(2, value),
  int: (message, value) => message.integer(3, value),
  string: (message, value) => message.text(4, value),
  tensor: (message, value) => message.message(5, tensorMessage("", value)),
  graph: (message, value) => message.message(6, graphMessage(value)),
  floats: (message, values) => {
    for (const value of values) message.float(7, value);
  },
  ints: (message, values) => {
    for (const value of values) message.integer(8, value);
  },
  strings: (message, values) => message.texts(9, values),
  tensors: (message, values) =>
    message.messages(
      10,
      values.map((value) => tensorMessage("", value)),
    ),
  graphs: (message, values) =>
    message.messages(
      11,
      values.map((body) => graphMessage(body)),
    ),
};
