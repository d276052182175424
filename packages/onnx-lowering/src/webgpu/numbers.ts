/** Replacements for numeric functions that ONNX Runtime's WebGPU provider has no kernel for. */
import { type DType, isFloat } from "@mp/graph";
import type { NodeWriter } from "@mp/onnx/write";
import { logSoftmax } from "../lowerings/log-softmax.js";
import type { Replacement, Replacements } from "../replacing/kernel-writer.js";

/** Adding and subtracting 2^23 rounds smaller numbers, ties to even, since f32 has no fractions from there on. */
const WHOLE_FROM = 2 ** 23;

const round: Replacement = ({ inputs: [x = ""], dtypes: [dtype] }, writer) => {
  const wide = writer.cast(x, "f32");
  const [zero, whole] = [writer.scalar(0, "f32"), writer.scalar(WHOLE_FROM, "f32")];
  const size = writer.one("Abs", [wide]);
  const rounded = writer.one("Sub", [writer.one("Add", [size, whole]), whole]);
  const isBelow = writer.one("Less", [wide, zero]);
  const signed = writer.one("Where", [isBelow, writer.one("Neg", [rounded]), rounded]);
  // Numbers that round to 0 keep their sign.
  const isZero = writer.one("Equal", [rounded, zero]);
  const near = writer.one("Where", [isZero, writer.one("Mul", [wide, zero]), signed]);
  const isSmall = writer.one("Less", [size, whole]);
  return [writer.cast(writer.one("Where", [isSmall, near, wide]), dtype ?? "f32")];
};

/** The sign of each element: -1, 0 or 1; NaN stays NaN. */
const sign: Replacement = ({ inputs: [x = ""], dtypes: [dtype = "f32"] }, writer) => {
  const zero = writer.scalar(0, dtype);
  const [above, below] = (["Greater", "Less"] as const).map((order) =>
    writer.cast(writer.one(order, [x, zero]), dtype),
  ) as [string, string];
  const number = writer.one("Sub", [above, below]);
  if (!isFloat(dtype)) return [number];
  return [writer.one("Where", [writer.one("Equal", [x, x]), number, x])];
};

/** Computes LogSoftmax in f32 and rounds once. */
const rowsOfLogarithms: Replacement = (
  { inputs: [x = ""], dtypes: [dtype], attributes: { axis } },
  writer,
) => {
  const along = axis?.kind === "int" ? Number(axis.value) : -1;
  return [writer.cast(logSoftmax(writer.cast(x, "f32"), along, writer), dtype ?? "f32")];
};

/** The integer remainder x - y · (x / y), where / truncates; with the divisor's sign unless `fmod` is 1. */
const mod: Replacement = ({ inputs: [x = "", y = ""], dtypes: [dtype = "i32"], attributes }, writer) => {
  if (isFloat(dtype)) return undefined;
  const isTruncated = attributes["fmod"]?.kind === "int" && Number(attributes["fmod"].value) === 1;
  const rest = writer.one("Sub", [x, writer.one("Mul", [y, writer.one("Div", [x, y])])]);
  if (isTruncated) return [rest];
  return [withDivisorsSign(rest, y, dtype, writer)];
};

/** Adds the divisor to a remainder whose sign differs from the divisor's. */
function withDivisorsSign(rest: string, y: string, dtype: DType, writer: NodeWriter): string {
  const zero = writer.scalar(0, dtype);
  const [isBelow, isAbove] = [rest, y].map((name) => writer.one("Less", [name, zero])) as [string, string];
  const isOther = writer.one("Xor", [isBelow, isAbove]);
  const isSome = writer.one("Not", [writer.one("Equal", [rest, zero])]);
  const adds = writer.one("And", [isOther, isSome]);
  return writer.one("Where", [adds, writer.one("Add", [rest, y]), rest]);
}

/** 0 - x for integers, because the Neg kernel takes only floats. */
const negate: Replacement = ({ inputs: [x = ""], dtypes: [dtype = "f32"] }, writer) =>
  isFloat(dtype) ? undefined : [writer.one("Sub", [writer.scalar(0, dtype), x])];

const magnitude: Replacement = ({ inputs: [x = ""], dtypes: [dtype = "f32"] }, writer) =>
  isFloat(dtype) ? undefined : [writer.one("Max", [x, writer.one("Neg", [x])])];

export const numbers: Replacements = {
  Round: round,
  Sign: sign,
  LogSoftmax: rowsOfLogarithms,
  Mod: mod,
  Neg: negate,
  Abs: magnitude,
};
