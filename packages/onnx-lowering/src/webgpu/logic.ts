/** Composes logic ops and tests for NaN and infinity from the provider's comparisons, `And` and `Not`. */
import { floatFormats, isComputeFloat } from "@mp/graph";
import type { NodeWriter } from "@mp/onnx/write";
import type { Replacement, Replacements } from "../replacing/kernel-writer.js";
import { commonShape } from "../replacing/known-types.js";

const not = (x: string, writer: NodeWriter): string => writer.one("Not", [x]);
const and = (a: string, b: string, writer: NodeWriter): string => writer.one("And", [a, b]);
const or = (a: string, b: string, writer: NodeWriter): string =>
  not(and(not(a, writer), not(b, writer), writer), writer);
const xor = (a: string, b: string, writer: NodeWriter): string =>
  and(or(a, b, writer), not(and(a, b, writer), writer), writer);

const isInf: Replacement = ({ inputs: [x = ""], dtypes: [dtype] }, writer) => {
  if (dtype === undefined || !isComputeFloat(dtype)) return undefined;
  const largest = writer.scalar(floatFormats[dtype].maxFinite, dtype);
  return [writer.one("Greater", [writer.one("Abs", [x]), largest])];
};

/**
 * Writes an `And` of different shapes as a product. The provider caches one shader for all shapes of the same ranks,
 * although some shapes need reads of four elements and others of one. The result would then depend on the shapes that
 * ran before.
 */
const both: Replacement = ({ inputs, shapes }, writer) => {
  if (commonShape(shapes) !== undefined) return undefined;
  const product = inputs.map((name) => writer.cast(name, "f32"));
  return [writer.cast(writer.one("Mul", product), "bool")];
};

export const logic: Replacements = {
  And: both,
  Or: ({ inputs: [a = "", b = ""] }, writer) => [or(a, b, writer)],
  Xor: ({ inputs: [a = "", b = ""] }, writer) => [xor(a, b, writer)],
  Equal: ({ inputs: [a = "", b = ""], dtypes }, writer) =>
    dtypes.includes("bool") ? [not(xor(a, b, writer), writer)] : undefined,
  IsNaN: ({ inputs: [x = ""] }, writer) => [not(writer.one("Equal", [x, x]), writer)],
  IsInf: isInf,
};
