import type { DType } from "@mp/core";
import { DataType } from "../proto/saved_model_pb.js";
import type { TfDType } from "./tf-writer.js";

/** TensorFlow's number for each dtype. */
export const dataTypeOf: Readonly<Record<TfDType, DataType>> = {
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

/**
 * The dtypes that tfjs-node can transfer between JavaScript and TensorFlow; everything else is transferred as i32 of
 * the same bits.
 */
export type CarriedDType = "f32" | "i32" | "bool";

export function carrierOf(dtype: DType): CarriedDType {
  return dtype === "f32" || dtype === "bool" ? dtype : "i32";
}
