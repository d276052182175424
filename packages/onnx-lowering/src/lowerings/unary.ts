import { isComputeFloat } from "@mp/graph";
import { castToEighth, type NodeWriter } from "@mp/onnx/write";
import { inF32 } from "./in-f32.js";
import { integerCast } from "./integer-cast.js";
import { at, firstApplicable, type OwnLowering, type OwnLoweringsOf, operandType } from "./own-lowering.js";
import type { Target } from "./target.js";
import { clipInOrder, signInOrder } from "./word-order.js";

/**
 * Computes exp(x) - 1 near 0 as (u - 1) · x / log(u) with u = exp(x), where the error of u cancels (Kahan);
 * the engine's result has the absolute error of a number near 1. Far from 0, u - 1 is accurate, and the
 * quotient fails if u is 0.
 */
const elu: OwnLowering<"Elu"> = (node, operands, writer) => {
  const { alpha } = node.attributes;
  return [inF32(node, at(operands, 0), writer, (x) => eluInF32(x, alpha, writer))];
};

function eluInF32(x: string, alpha: number, writer: NodeWriter): string {
  const number = (value: number): string => writer.scalar(value, "f32");
  const below = writer.one("Min", [x, number(0)]);
  const u = writer.one("Exp", [below]);
  const far = writer.one("Sub", [u, number(1)]);
  const near = writer.one("Mul", [far, writer.one("Div", [below, writer.one("Log", [u])])]);
  const nearOrZero = writer.one("Where", [writer.one("Equal", [far, number(0)]), below, near]);
  const minusOne = writer.one("Where", [writer.one("Less", [below, number(-0.5)]), far, nearOrZero]);
  const scaled = alpha === 1 ? minusOne : writer.one("Mul", [minusOne, number(alpha)]);
  return writer.one("Where", [writer.one("Greater", [x, number(0)]), x, scaled]);
}

/** Replaces missing bounds by infinities, because the engine's defaults are finite and would clip infinities. */
const clip: OwnLowering<"Clip"> = (node, operands, writer) => {
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = node.attributes;
  const { dtype } = operandType(node);
  if (!isComputeFloat(dtype)) return undefined;
  return [writer.one("Clip", [at(operands, 0), writer.scalar(min, dtype), writer.scalar(max, dtype)])];
};

/**
 * Casts |x| to u8, because the engine would drop a rounding of x to bf16 right before the cast. The result is the same,
 * because negative numbers either truncate to 0 or are out of range.
 */
const castToByte: OwnLowering<"Cast"> = (node, operands, writer) =>
  node.attributes.to === "u8" && isComputeFloat(operandType(node).dtype)
    ? [writer.cast(writer.one("Abs", [at(operands, 0)]), "u8")]
    : undefined;

export const unaryLowerings = (target: Target): OwnLoweringsOf<"unary"> => ({
  Elu: elu,
  Sign: signInOrder,
  Clip: firstApplicable(clipInOrder, clip),
  Cast: firstApplicable(integerCast(target), castToByte, castToEighth),
});
