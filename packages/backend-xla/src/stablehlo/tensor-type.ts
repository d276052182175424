import { type DType, isFloat, type ValueType } from "@mp/graph";
import type { Operand } from "./operand.js";

/** MLIR's name of each dtype. */
const elementTypes: Readonly<Record<DType, string>> = {
  f32: "f32",
  f16: "f16",
  bf16: "bf16",
  f8e4m3: "f8E4M3FN",
  f8e5m2: "f8E5M2",
  i32: "i32",
  i64: "i64",
  u64: "ui64",
  u8: "ui8",
  bool: "i1",
};

/** The type as text, such as `tensor<2x3xf32>`. */
export const typeText = ({ dtype, shape }: ValueType): string =>
  `tensor<${shape.map((size) => `${size}x`).join("")}${elementTypes[dtype]}>`;

/** The types of operands, separated by commas. */
export const typesText = (operands: readonly Operand[]): string =>
  operands.map(({ type }) => typeText(type)).join(", ");

/** The names of operands, separated by commas. */
export const namesText = (operands: readonly Operand[]): string =>
  operands.map(({ name }) => name).join(", ");

/** `[1, 2, 3]`, an attribute of integers in the short forms of operations. */
export const listText = (numbers: readonly number[]): string => `[${numbers.join(", ")}]`;

/** `array<i64: 1, 2, 3>`, an attribute of integers in the generic form of operations. */
export const arrayText = (numbers: readonly number[]): string =>
  `array<i64${numbers.length === 0 ? "" : `: ${numbers.join(", ")}`}>`;

/** How elements of a dtype are compared. */
export function comparisonType(dtype: DType): "FLOAT" | "SIGNED" | "UNSIGNED" {
  if (isFloat(dtype)) return "FLOAT";
  return dtype === "i32" || dtype === "i64" ? "SIGNED" : "UNSIGNED";
}
