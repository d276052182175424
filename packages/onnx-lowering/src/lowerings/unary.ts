import { isComputeFloat } from "@mp/graph";
import type { NodeWriter } from "@mp/onnx/write";
import { inF32 } from "./in-f32.js";
import { integerCast } from "./integer-cast.js";
import { at, firstApplicable, type OwnLowering, type OwnLoweringsOf, operandType } from "./own-lowering.js";
import type { Target } from "./target.js";
import { clipInOrder, signInOrder } from "./word-order.js";

/**
 * Computes exp(x) - 1 near 0 as (u - 1) · x / log(u) with u = exp(x), where the error of u cancels (Kahan); the
 * engine's error there is that of numbers near 1. Far from 0, u - 1 is accurate, and the quotient fails where u is 0.
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

/** Gives missing bounds as infinities: the engine takes the largest finite number, which would clip infinities. */
const clip: OwnLowering<"Clip"> = (node, operands, writer) => {
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = node.attributes;
  const { dtype } = operandType(node);
  if (!isComputeFloat(dtype)) return undefined;
  return [writer.one("Clip", [at(operands, 0), writer.scalar(min, dtype), writer.scalar(max, dtype)])];
};

/** The magnitude above which a value overflows, and what it becomes. */
const overflow: Readonly<Record<"f8e4m3" | "f8e5m2", { readonly above: number; readonly to: number }>> = {
  f8e4m3: { above: 464, to: Number.NaN },
  f8e5m2: { above: 61440 - 2 ** -8, to: Number.POSITIVE_INFINITY },
};

/** Corrects casts to f8 just above its largest finite number, where the engine's are wrong. */
const cast: OwnLowering<"Cast"> = (node, operands, writer) => {
  const { to } = node.attributes;
  if (to !== "f8e4m3" && to !== "f8e5m2") return undefined;
  const { dtype } = operandType(node);
  const x = at(operands, 0);
  if (dtype === to) return undefined;
  const wide = dtype === "f32" ? x : writer.cast(x, "f32");
  return [writer.cast(overflowing(wide, to, writer), to)];
};

function overflowing(x: string, to: "f8e4m3" | "f8e5m2", writer: NodeWriter): string {
  const { above, to: limit } = overflow[to];
  const isBeyond = writer.one("Greater", [writer.one("Abs", [x]), writer.scalar(above, "f32")]);
  return writer.one("Where", [isBeyond, writer.one("Mul", [x, writer.scalar(limit, "f32")]), x]);
}

/**
 * Casts |x| to u8: the engine drops a rounding to bf16 before a cast of x itself. Numbers from -1 down are out of
 * range anyway.
 */
const castToByte: OwnLowering<"Cast"> = (node, operands, writer) =>
  node.attributes.to === "u8" && isComputeFloat(operandType(node).dtype)
    ? [writer.cast(writer.one("Abs", [at(operands, 0)]), "u8")]
    : undefined;

export const unaryLowerings = (target: Target): OwnLoweringsOf<"unary"> => ({
  Elu: elu,
  Sign: signInOrder,
  Clip: firstApplicable(clipInOrder, clip),
  Cast: firstApplicable(integerCast(target), castToByte, cast),
});
