import { DTYPES } from "@mp/graph";
import { expect, it } from "vitest";
import { codeOfKind } from "./attribute-kinds.js";
import { codeOfElementType, elementTypeOfCode } from "./element-type.js";
import { AttributeProto_AttributeType, TensorProto_DataType } from "./proto/onnx_pb.js";

/** A TypeScript enum's names and numbers. */
const entriesOf = (values: object): readonly (readonly [string, number])[] =>
  Object.entries(values).filter((entry): entry is [string, number] => typeof entry[1] === "number");

it("numbers element types as the schema does", () => {
  const entries = entriesOf(TensorProto_DataType);
  for (const [name, code] of entries) {
    const type = elementTypeOfCode(code);
    if (name === "UNDEFINED") expect(type).toBeUndefined();
    else expect(type !== undefined && codeOfElementType(type)).toBe(code);
    if (type !== undefined && !(DTYPES as readonly string[]).includes(type)) expect(type).toBe(name);
  }
  expect(elementTypeOfCode(entries.length)).toBeUndefined();
  const named = (dtype: (typeof DTYPES)[number]): string | undefined =>
    entries.find(([, code]) => code === codeOfElementType(dtype))?.[0];
  expect(Object.fromEntries(DTYPES.map((dtype) => [dtype, named(dtype)]))).toEqual({
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
  });
});

it("numbers kinds of attributes as the schema does", () => {
  const codes = new Map(entriesOf(AttributeProto_AttributeType));
  for (const [kind, code] of Object.entries(codeOfKind)) expect(codes.get(kind.toUpperCase())).toBe(code);
});
