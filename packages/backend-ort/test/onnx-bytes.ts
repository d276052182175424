/**
 * Just enough of the ONNX protobuf format to write test models by hand, so that the layer under test depends only on
 * bytes. Nodes are written in the order given.
 */
import type { HostTensor, ValueType } from "@mp/graph";
import { ONNX_ELEMENT_TYPE } from "../src/native/element-type.js";

type Attribute = number | string | readonly number[];

export interface ModelNode {
  readonly op: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly name?: string;
  readonly attributes?: Readonly<Record<string, Attribute>>;
}

export interface ModelDescription {
  readonly nodes: readonly ModelNode[];
  readonly inputs: Readonly<Record<string, ValueType>>;
  readonly outputs: Readonly<Record<string, ValueType>>;
  readonly initializers?: Readonly<Record<string, HostTensor>>;
  readonly opset?: number;
}

export function modelBytes(model: ModelDescription): Uint8Array {
  const graph = [
    ...model.nodes.map((node) => message(1, nodeProto(node))),
    text(2, "test"),
    ...Object.entries(model.initializers ?? {}).map(([name, value]) => message(5, tensorProto(name, value))),
    ...Object.entries(model.inputs).map(([name, type]) => message(11, valueInfo(name, type))),
    ...Object.entries(model.outputs).map(([name, type]) => message(12, valueInfo(name, type))),
  ];
  return join([
    integer(1, 10),
    message(7, join(graph)),
    message(8, join([text(1, ""), integer(2, model.opset ?? 21)])),
  ]);
}

function nodeProto(node: ModelNode): Uint8Array {
  return join([
    ...node.inputs.map((name) => text(1, name)),
    ...node.outputs.map((name) => text(2, name)),
    text(3, node.name ?? node.outputs[0] ?? node.op),
    text(4, node.op),
    ...Object.entries(node.attributes ?? {}).map(([name, value]) => message(5, attributeProto(name, value))),
  ]);
}

/** Whole numbers are written as INT: no test needs a FLOAT attribute with a whole value. */
function attributeProto(name: string, value: Attribute): Uint8Array {
  if (typeof value === "string") return join([text(1, name), text(4, value), integer(20, 3)]);
  if (typeof value !== "number") {
    return join([text(1, name), ...value.map((item) => integer(8, item)), integer(20, 7)]);
  }
  return Number.isInteger(value)
    ? join([text(1, name), integer(3, value), integer(20, 2)])
    : join([text(1, name), float(2, value), integer(20, 1)]);
}

function valueInfo(name: string, type: ValueType): Uint8Array {
  const shape = join(type.shape.map((size) => message(1, integer(1, size))));
  const tensorType = join([integer(1, ONNX_ELEMENT_TYPE[type.dtype]), message(2, shape)]);
  return join([text(1, name), message(2, message(1, tensorType))]);
}

function tensorProto(name: string, { dtype, shape, data }: HostTensor): Uint8Array {
  return join([
    ...shape.map((size) => integer(1, size)),
    integer(2, ONNX_ELEMENT_TYPE[dtype]),
    text(8, name),
    message(9, new Uint8Array(data.buffer, data.byteOffset, data.byteLength)),
  ]);
}

function varint(value: number | bigint): number[] {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  while (rest > 127n) {
    bytes.push(Number(rest & 127n) | 128);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return bytes;
}

function integer(field: number, value: number): Uint8Array {
  return Uint8Array.from([...varint(field * 8), ...varint(value)]);
}

function float(field: number, value: number): Uint8Array {
  return join([Uint8Array.from(varint(field * 8 + 5)), new Uint8Array(Float32Array.of(value).buffer)]);
}

function message(field: number, body: Uint8Array): Uint8Array {
  return join([Uint8Array.from([...varint(field * 8 + 2), ...varint(body.length)]), body]);
}

function text(field: number, value: string): Uint8Array {
  return message(field, new TextEncoder().encode(value));
}

function join(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
