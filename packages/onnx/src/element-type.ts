import { DTYPES, type DType } from "@mp/graph";

/** ONNX's names of element types; the index of a name is its code, `TensorProto.DataType`. */
const ONNX_NAMES = [
  "UNDEFINED",
  "FLOAT",
  "UINT8",
  "INT8",
  "UINT16",
  "INT16",
  "INT32",
  "INT64",
  "STRING",
  "BOOL",
  "FLOAT16",
  "DOUBLE",
  "UINT32",
  "UINT64",
  "COMPLEX64",
  "COMPLEX128",
  "BFLOAT16",
  "FLOAT8E4M3FN",
  "FLOAT8E4M3FNUZ",
  "FLOAT8E5M2",
  "FLOAT8E5M2FNUZ",
  "UINT4",
  "INT4",
  "FLOAT4E2M1",
  "FLOAT8E8M0",
  "UINT2",
  "INT2",
  "FLOAT6E2M3",
  "FLOAT6E3M2",
] as const;

type OnnxName = (typeof ONNX_NAMES)[number];

/** ONNX's name of each dtype. Casts to the two f8 types do not saturate. */
const onnxNameOf = {
  f32: "FLOAT",
  f16: "FLOAT16",
  bf16: "BFLOAT16",
  f8e4m3: "FLOAT8E4M3FN",
  f8e5m2: "FLOAT8E5M2",
  i32: "INT32",
  i64: "INT64",
  u64: "UINT64",
  u8: "UINT8",
  bool: "BOOL",
} as const;

/** ONNX's names of the element types that graphs do not have as dtypes. */
export type ForeignElementType = Exclude<OnnxName, "UNDEFINED" | (typeof onnxNameOf)[DType]>;

/** An element type as a model may declare it. */
export type ElementType = DType | ForeignElementType;

/** ONNX's code for an element type, as files contain it. */
export function codeOfElementType(type: ElementType): number {
  const code = ONNX_NAMES.indexOf(isDType(type) ? onnxNameOf[type] : type);
  if (code < 1) throw new Error(`internal: no ONNX element type ${type}`);
  return code;
}

/** The element type with this ONNX code; undefined for a code that the schema does not know. */
export function elementTypeOfCode(code: number): ElementType | undefined {
  const name = ONNX_NAMES[code];
  if (name === undefined || name === "UNDEFINED") return undefined;
  return DTYPES.find((dtype) => onnxNameOf[dtype] === name) ?? (name as ForeignElementType);
}

export function isDType(type: ElementType): type is DType {
  return (DTYPES as readonly string[]).includes(type);
}

export function isElementType(name: string): name is ElementType {
  return ONNX_NAMES.some((_, code) => elementTypeOfCode(code) === name);
}
