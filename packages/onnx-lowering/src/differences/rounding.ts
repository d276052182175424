/** Rounds to half dtypes by arithmetic, for engines that truncate, or that drop a cast and its inverse. */
import { floatFormats, type HalfDType, isHalf } from "@mp/graph";
import type { NodeWriter } from "@mp/onnx/write";
import { at, type OwnLowering, operandType } from "../lowerings/own-lowering.js";

/** Precision and range of a half dtype, as exponents of 2. */
interface Grid {
  /** The exponent s in Veltkamp's factor 2^s + 1: rounding drops the last s bits of an f32 number. */
  readonly split: number;
  readonly leastNormal: number;
  readonly least: number;
}

const GRIDS: Readonly<Record<HalfDType, Grid>> = {
  f16: { split: 13, leastNormal: -14, least: -24 },
  bf16: { split: 16, leastNormal: -126, least: -133 },
};

/** Magnitudes above this one are scaled down, because their product with Veltkamp's factor might overflow. */
const LARGE = 2 ** 100;
const SCALE = 2 ** -32;

/** Rounds a normal number by Veltkamp's split, γ + (x - γ) with γ = (2^s + 1) · x. */
function normal(x: string, { split }: Grid, writer: NodeWriter): string {
  // An engine may fuse a product with a sum, its only reader, and round once. This product has two readers.
  const large = writer.one("Mul", [x, writer.scalar(2 ** split + 1, "f32")]);
  return writer.one("Add", [large, writer.one("Sub", [x, large])]);
}

/** Rounds a small number to a multiple of the smallest subnormal, by adding a number that drops all lower digits. */
function subnormal(x: string, { least }: Grid, writer: NodeWriter): string {
  const number = (value: number): string => writer.scalar(value, "f32");
  const above = 1.5 * 2 ** (least + floatFormats.f32.fractionBits);
  const near = writer.one("Add", [writer.one("Add", [x, number(above)]), number(-above)]);
  // Keeps the sign of zeros.
  const zero = writer.one("Mul", [x, number(0)]);
  return writer.one("Where", [writer.one("Equal", [near, number(0)]), zero, near]);
}

/** Rounds f32 to the nearest number of the half dtype, ties to even; the result is still f32. */
function roundByArithmetic(x: string, half: HalfDType, writer: NodeWriter): string {
  const number = (value: number): string => writer.scalar(value, "f32");
  const where = (...parts: readonly [string, string, string]): string => writer.one("Where", parts);
  const grid = GRIDS[half];
  const { maxFinite, maxExponent, fractionBits } = floatFormats[half];
  const magnitude = writer.one("Abs", [x]);
  // Half a step above the largest finite number.
  const isInside = writer.one("Less", [magnitude, number(maxFinite + 2 ** (maxExponent - fractionBits - 1))]);
  const inside = where(isInside, x, number(0));
  const scaleLarge = (value: string, factor: number): string => {
    if (2 ** maxExponent < LARGE) return value;
    const isLarge = writer.one("Greater", [magnitude, number(LARGE)]);
    return writer.one("Mul", [value, where(isLarge, number(factor), number(1))]);
  };
  const split = scaleLarge(normal(scaleLarge(inside, SCALE), grid, writer), 1 / SCALE);
  const isSmall = writer.one("Less", [magnitude, number(2 ** grid.leastNormal)]);
  const finite = where(isSmall, subnormal(inside, grid, writer), split);
  // Replaces every NaN, because a cast may carry the payload of another NaN into its sign.
  const infinite = writer.one("Mul", [x, number(Number.POSITIVE_INFINITY)]);
  const beyond = where(writer.one("IsNaN", [x]), number(Number.NaN), infinite);
  return where(isInside, finite, beyond);
}

/** Shortens an i32 to 24 bits that round to the same f16 or bf16 number; a sticky bit replaces the dropped bits. */
function shortenInteger(x: string, writer: NodeWriter): string {
  const number = (value: number): string => writer.scalar(value, "i32");
  const and = (mask: number): string => writer.one("BitwiseAnd", [x, number(mask)]);
  const isLost = writer.one("Not", [writer.one("Equal", [and(255), number(0)])]);
  const kept = writer.one("Add", [and(-256), writer.one("Where", [isLost, number(128), number(0)])]);
  const isLong = writer.one("GreaterOrEqual", [writer.one("Abs", [x]), number(2 ** 16)]);
  return writer.one("Where", [isLong, kept, x]);
}

/** @param halves the half dtypes to which the engine's own casts do not round */
export const castByArithmetic =
  (halves: readonly HalfDType[]): OwnLowering<"Cast"> =>
  (node, operands, writer) => {
    const { dtype } = operandType(node);
    const { to } = node.attributes;
    if (to === "bool" && dtype !== "bool") {
      // The kernel casts to bytes first, and so takes 256 for false.
      const isZero = writer.one("Equal", [at(operands, 0), writer.scalar(0, dtype)]);
      return [writer.one("Not", [isZero])];
    }
    if (!isHalf(to) || dtype === to) return undefined;
    const isRounded = !halves.includes(to);
    // A cast from i32 truncates, even where a cast from f32 rounds.
    if (isRounded && dtype !== "i32") return undefined;
    const x = at(operands, 0);
    const wide = dtype === "f32" ? x : writer.cast(dtype === "i32" ? shortenInteger(x, writer) : x, "f32");
    return [writer.cast(isRounded ? wide : roundByArithmetic(wide, to, writer), to)];
  };
