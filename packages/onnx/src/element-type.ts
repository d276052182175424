import type { DType } from "@mp/core";
import { DTYPES } from "@mp/core/graph";
import { TensorProto_DataType } from "./proto/onnx_pb.js";

/** ONNX's number for each of our dtypes. The f8 pair are the "FN" and "IEEE-like" ones, without saturation. */
const codeOfDType: Readonly<Record<DType, number>> = {
  f32: TensorProto_DataType.FLOAT,
  f16: TensorProto_DataType.FLOAT16,
  bf16: TensorProto_DataType.BFLOAT16,
  f8e4m3: TensorProto_DataType.FLOAT8E4M3FN,
  f8e5m2: TensorProto_DataType.FLOAT8E5M2,
  i32: TensorProto_DataType.INT32,
  i64: TensorProto_DataType.INT64,
  u64: TensorProto_DataType.UINT64,
  u8: TensorProto_DataType.UINT8,
  bool: TensorProto_DataType.BOOL,
};

type OnnxTypeName = keyof typeof TensorProto_DataType;

/** ONNX's element types that have no counterpart here, by ONNX's name. */
export type ForeignElementType = Exclude<
  OnnxTypeName,
  | "FLOAT"
  | "FLOAT16"
  | "BFLOAT16"
  | "FLOAT8E4M3FN"
  | "FLOAT8E5M2"
  | "INT32"
  | "INT64"
  | "UINT64"
  | "UINT8"
  | "BOOL"
  | "UNDEFINED" // biome-ignore format: one list
>;

/** An element type as a model may declare it. */
export type ElementType = DType | ForeignElementType;

const typeOfCode = new Map<number, ElementType>();
const codeOfType = new Map<ElementType, number>();
for (const [name, code] of Object.entries(TensorProto_DataType)) {
  if (code === TensorProto_DataType.UNDEFINED) continue;
  const type = DTYPES.find((dtype) => codeOfDType[dtype] === code) ?? (name as ForeignElementType);
  typeOfCode.set(code, type);
  codeOfType.set(type, code);
}

/** The number that stands for it in a file. */
export function codeOfElementType(type: ElementType): number {
  const code = codeOfType.get(type);
  if (code === undefined) throw new Error(`internal: no ONNX element type ${type}`);
  return code;
}

/** Undefined for a number that the schema does not know. */
export function elementTypeOfCode(code: number): ElementType | undefined {
  return typeOfCode.get(code);
}

export function isDType(type: ElementType): type is DType {
  return (DTYPES as readonly string[]).includes(type);
}
