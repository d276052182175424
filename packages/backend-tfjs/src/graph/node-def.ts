/** TensorFlow's nodes and attributes as the messages of a GraphDef. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { HostTensor, Shape } from "@mp/core";
import type {
  AttrValueSchema,
  NodeDefSchema,
  TensorProtoSchema,
  TensorShapeProtoSchema,
} from "../proto/saved_model_pb.js";
import { dataTypeOf } from "./dtype.js";
import type { TfAttribute } from "./tf-writer.js";

type AttrInit = MessageInitShape<typeof AttrValueSchema>;

/** A node, its attributes already in TensorFlow's terms. */
export type NodeInit = MessageInitShape<typeof NodeDefSchema> & {
  readonly name: string;
  readonly op: string;
  readonly input: string[];
};

const utf8 = new TextEncoder();

const encoders: {
  readonly [K in TfAttribute["kind"]]: (
    value: Extract<TfAttribute, { kind: K }>["value"],
  ) => AttrInit["value"];
} = {
  type: (value) => ({ case: "type", value: dataTypeOf[value] }),
  types: (value) => ({ case: "list", value: { type: value.map((dtype) => dataTypeOf[dtype]) } }),
  int: (value) => ({ case: "i", value: BigInt(value) }),
  ints: (value) => ({ case: "list", value: { i: value.map(BigInt) } }),
  float: (value) => ({ case: "f", value }),
  bool: (value) => ({ case: "b", value }),
  string: (value) => ({ case: "s", value: utf8.encode(value) }),
  shape: (value) => ({ case: "shape", value: shapeInit(value) }),
  tensor: (value) => ({ case: "tensor", value: tensorInit(value) }),
};

export function nodeInit(
  op: string,
  name: string,
  input: readonly string[],
  attributes: Readonly<Record<string, TfAttribute>>,
): NodeInit {
  const attr = Object.entries(attributes).map(([key, { kind, value }]) => {
    const encode = encoders[kind] as (value: unknown) => AttrInit["value"];
    return [key, { value: encode(value) } as AttrInit] as const;
  });
  return { name, op, input: [...input], attr: Object.fromEntries(attr) };
}

function shapeInit(shape: Shape): MessageInitShape<typeof TensorShapeProtoSchema> {
  return { dim: shape.map((size) => ({ size: BigInt(size) })) };
}

/** The host's bytes; a bool is 0 or 1, since TensorFlow refuses a constant with any other byte. */
function tensorInit({ dtype, shape, data }: HostTensor): MessageInitShape<typeof TensorProtoSchema> {
  const bytes = new Uint8Array(data.buffer as ArrayBuffer, data.byteOffset, data.byteLength);
  return {
    dtype: dataTypeOf[dtype],
    tensorShape: shapeInit(shape),
    tensorContent: dtype === "bool" ? bytes.map((byte) => (byte === 0 ? 0 : 1)) : bytes,
  };
}
