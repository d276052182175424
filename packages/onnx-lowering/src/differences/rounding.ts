/** Rounding to halves by arithmetic, for engines that drop a cast to a half and back, or cut bits off. */
import type { HalfDType } from "@mp/core";
import { floatFormats } from "@mp/core/graph";
import type { NodeWriter } from "@mp/onnx/write";
import { at, type OwnLowering, operandType } from "../lowerings/own-lowering.js";

/** A half's numbers, as exponents of 2. */
interface Grid {
  /** Veltkamp's factor is one more than this: what it leaves has as many bits as the half. */
  readonly split: number;
  readonly leastNormal: number;
  readonly least: number;
}

const GRIDS: Readonly<Record<HalfDType, Grid>> = {
  f16: { split: 13, leastNormal: -14, least: -24 },
  bf16: { split: 16, leastNormal: -126, least: -133 },
};

/** From here on a number times the split might overflow. */
const LARGE = 2 ** 100;

/** The nearest number of the half, ties to even, as f32. */
function rounded(x: string, half: HalfDType, writer: NodeWriter): string {
  const number = (value: number): string => writer.scalar(value, "f32");
  const mul = (a: string, b: string): string => writer.one("Mul", [a, b]);
  const sub = (a: string, b: string): string => writer.one("Sub", [a, b]);
  const where = (...parts: readonly [string, string, string]): string => writer.one("Where", parts);
  const { split, leastNormal, least } = GRIDS[half];
  const magnitude = writer.one("Abs", [x]);
  const isLarge = writer.one("GreaterOrEqual", [magnitude, number(LARGE)]);
  const scaled = mul(x, where(isLarge, number(2 ** -32), number(1)));
  const far = mul(scaled, number(2 ** split + 1));
  const normal = mul(sub(far, sub(far, scaled)), where(isLarge, number(2 ** 32), number(1)));
  // Below the least normal number they are multiples of the least. A selection keeps factors from being multiplied.
  const isSmall = writer.one("Less", [magnitude, number(2 ** leastNormal)]);
  const lifted = where(isSmall, mul(x, number(2 ** -leastNormal)), number(0));
  const steps = 2 ** (leastNormal - least);
  const count = mul(writer.one("Round", [mul(lifted, number(steps))]), number(1 / steps));
  const unsigned = where(isSmall, mul(where(isSmall, count, number(0)), number(2 ** leastNormal)), normal);
  // Zeros keep the sign; a product with a constant may have 0 added.
  const isZero = writer.one("Equal", [unsigned, number(0)]);
  const zero = where(writer.one("Less", [x, number(0)]), number(-0), x);
  const finite = where(isZero, where(writer.one("Greater", [x, number(0)]), number(0), zero), unsigned);
  // Half a step above the largest finite number.
  const { maxFinite, fractionBits } = floatFormats[half];
  const halfStep = 2 ** (Math.floor(Math.log2(maxFinite)) - fractionBits - 1);
  const isBeyond = writer.one("GreaterOrEqual", [magnitude, number(maxFinite + halfStep)]);
  const whole = where(isBeyond, mul(x, number(Number.POSITIVE_INFINITY)), finite);
  // A cast may carry the payload of another NaN into its sign.
  return where(writer.one("IsNaN", [x]), number(Number.NaN), whole);
}

/** An i32 of at most 24 bits that rounds to the same half: one bit stands for all that are lost. */
function shortened(x: string, writer: NodeWriter): string {
  const number = (value: number): string => writer.scalar(value, "i32");
  const and = (mask: number): string => writer.one("BitwiseAnd", [x, number(mask)]);
  const isLost = writer.one("Not", [writer.one("Equal", [and(255), number(0)])]);
  const kept = writer.one("Add", [and(-256), writer.one("Where", [isLost, number(128), number(0)])]);
  const isLong = writer.one("GreaterOrEqual", [writer.one("Abs", [x]), number(2 ** 16)]);
  return writer.one("Where", [isLong, kept, x]);
}

/** @param halves those to which the engine's own casts do not round */
export const castByArithmetic =
  (halves: readonly HalfDType[]): OwnLowering<"Cast"> =>
  (node, operands, writer) => {
    const { dtype } = operandType(node);
    const { to } = node.attributes;
    if (to === "bool" && dtype !== "bool") {
      // Casts to bytes first, and so takes 256 for false.
      const isZero = writer.one("Equal", [at(operands, 0), writer.scalar(0, dtype)]);
      return [writer.one("Not", [isZero])];
    }
    const half = halves.find((one) => one === to);
    if (half === undefined || dtype === half) return undefined;
    const x = at(operands, 0);
    const wide = dtype === "f32" ? x : writer.cast(dtype === "i32" ? shortened(x, writer) : x, "f32");
    return [writer.cast(rounded(wide, half, writer), half)];
  };
