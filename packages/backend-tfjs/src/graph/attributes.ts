/** Dtypes and attributes of TensorFlow's nodes, in the form of a GraphDef's messages. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { DType, HostTensor, Shape } from "@mp/graph";
import {
  type AttrValueSchema,
  DataType,
  type TensorProtoSchema,
  type TensorShapeProtoSchema,
} from "../proto/saved_model_pb.js";

/** A TensorFlow dtype: a dtype of graphs, or one that only TensorFlow's own nodes need. */
export type TfDType = DType | "f64" | "u16" | "i8" | "i16" | "u32" | "resource";

/** TensorFlow's DataType for each dtype. */
const dataTypes: Readonly<Record<TfDType, DataType>> = {
  f32: DataType.DT_FLOAT,
  f64: DataType.DT_DOUBLE,
  f16: DataType.DT_HALF,
  bf16: DataType.DT_BFLOAT16,
  f8e4m3: DataType.DT_FLOAT8_E4M3FN,
  f8e5m2: DataType.DT_FLOAT8_E5M2,
  i8: DataType.DT_INT8,
  i16: DataType.DT_INT16,
  i32: DataType.DT_INT32,
  i64: DataType.DT_INT64,
  u8: DataType.DT_UINT8,
  u16: DataType.DT_UINT16,
  u32: DataType.DT_UINT32,
  u64: DataType.DT_UINT64,
  bool: DataType.DT_BOOL,
  resource: DataType.DT_RESOURCE,
};

type AttributeInit = MessageInitShape<typeof AttrValueSchema>;
export type TfAttribute = NonNullable<AttributeInit["value"]>;
export type TfAttributes = Readonly<Record<string, TfAttribute>>;

const utf8 = new TextEncoder();

export const type = (value: TfDType): TfAttribute => ({ case: "type", value: dataTypes[value] });
export const int = (value: number): TfAttribute => ({ case: "i", value: BigInt(value) });
export const ints = (value: readonly number[]): TfAttribute => ({
  case: "list",
  value: { i: value.map(BigInt) },
});
export const float = (value: number): TfAttribute => ({ case: "f", value });
export const bool = (value: boolean): TfAttribute => ({ case: "b", value });
export const string = (value: string): TfAttribute => ({ case: "s", value: utf8.encode(value) });
export const shape = (value: Shape): TfAttribute => ({ case: "shape", value: shapeInit(value) });

/** A tensor attribute. Bools become 0 or 1, because TensorFlow refuses a constant with any other byte. */
export function tensor({ dtype, shape, data }: HostTensor): TfAttribute {
  const bytes = new Uint8Array(data.buffer as ArrayBuffer, data.byteOffset, data.byteLength);
  const value: MessageInitShape<typeof TensorProtoSchema> = {
    dtype: dataTypes[dtype],
    tensorShape: shapeInit(shape),
    tensorContent: dtype === "bool" ? bytes.map((byte) => (byte === 0 ? 0 : 1)) : bytes,
  };
  return { case: "tensor", value };
}

function shapeInit(shape: Shape): MessageInitShape<typeof TensorShapeProtoSchema> {
  return { dim: shape.map((size) => ({ size: BigInt(size) })) };
}
