import type { DType } from "@mp/graph";

/** ONNXTensorElementDataType of each dtype, equal to TensorProto.DataType of the ONNX format. */
export const ONNX_ELEMENT_TYPE: Readonly<Record<DType, number>> = {
  f32: 1,
  u8: 2,
  i32: 6,
  i64: 7,
  bool: 9,
  f16: 10,
  u64: 13,
  bf16: 16,
  f8e4m3: 17,
  f8e5m2: 19,
};
