// Reads tensors whose data lies in other files. The file names come from the model, and a hostile model could name any
// file. So only files below the model's own folder are asked for.

import { MpError } from "@mp/graph";
import { arrayClassOf } from "@mp/graph/internal";
import { quote, refuse } from "./problem.js";
import type {
  AttributeProto,
  GraphProto,
  ModelProto,
  NodeProto,
  StringStringEntryProto,
  TensorProto,
} from "./proto/onnx_pb.js";
import { TensorProto_DataLocation } from "./proto/onnx_pb.js";

/** The place of a tensor's data: `length` bytes from `offset` in the file `location` beside the model. */
export interface DataPlace {
  /** A path below the model's folder, with slashes. */
  readonly location: string;
  readonly offset: number;
  /** Default: up to the end of the file. */
  readonly length?: number;
}

/** Reads the bytes at a place. */
export type ReadExternalData = (place: DataPlace) => Uint8Array;

/**
 * Moves all external data into the message. @throws MP_PARSE for a file outside of the model's folder or more
 * than `maxBytes`, MP_INVALID_ARGUMENT if `read` does not return a `Uint8Array`
 */
export function inlineExternalData(model: ModelProto, read: ReadExternalData, maxBytes: number): void {
  let left = maxBytes;
  const inline = (tensor: TensorProto): void => {
    if (tensor.dataLocation !== TensorProto_DataLocation.EXTERNAL) return;
    const data = expectBytes(read(readPlace(tensor.externalData, tensor.name)), tensor.name);
    left -= data.length;
    if (left < 0) refuse("too-much-data", `the external data exceeds maxTensorBytes, ${maxBytes}`);
    tensor.rawData = data;
    tensor.externalData = [];
    tensor.dataLocation = TensorProto_DataLocation.DEFAULT;
  };
  const ofGraph = ({ initializer, node }: GraphProto): void => {
    initializer.forEach(inline);
    node.forEach(ofNode);
  };
  const ofAttribute = ({ t, g, tensors, graphs }: AttributeProto): void => {
    for (const tensor of t === undefined ? tensors : [t, ...tensors]) inline(tensor);
    for (const graph of g === undefined ? graphs : [g, ...graphs]) ofGraph(graph);
  };
  const ofNode = ({ attribute }: NodeProto): void => attribute.forEach(ofAttribute);
  if (model.graph !== undefined) ofGraph(model.graph);
  for (const { node } of model.functions) node.forEach(ofNode);
}

function expectBytes(data: unknown, name: string): Uint8Array {
  if (data instanceof Uint8Array || arrayClassOf(data) === "Uint8Array") return data as Uint8Array;
  const got = data instanceof Promise ? "a promise" : (arrayClassOf(data) ?? typeof data);
  throw new MpError(
    "MP_INVALID_ARGUMENT",
    `onnx: externalData gives the bytes of ${quote(name)} as a Uint8Array, got ${got}`,
    { details: { name } },
  );
}

function readPlace(entries: readonly StringStringEntryProto[], name: string): DataPlace {
  const what = `the external data of ${quote(name)}`;
  const given = new Map(entries.map(({ key, value }) => [key, value]));
  const location = given.get("location") ?? refuse("missing-field", `${what} names no file`);
  const parts = location.split(/[/\\]/);
  const isBelow = location !== "" && !location.includes("\0") && !/^[/\\]|^[A-Za-z]:/.test(location);
  if (!isBelow || parts.includes(".."))
    refuse("invalid-field", `${what} is in ${quote(location)}, which is not below the model's folder`);
  const length = given.get("length");
  return {
    location: parts.join("/"),
    offset: count(given.get("offset") ?? "0", what),
    ...(length === undefined ? {} : { length: count(length, what) }),
  };
}

function count(text: string, what: string): number {
  const value = Number(text);
  return /^\d+$/.test(text) && Number.isSafeInteger(value)
    ? value
    : refuse("invalid-field", `${what} has an offset or length of ${quote(text)}`);
}
