import { type FloatDType, floatFormats } from "../dtype.js";

/** Formats narrower than f32: their values, and the halfway points between them, are all exact in f32. */
export type NarrowDType = Exclude<FloatDType, "f32">;

/**
 * Constants that turn rounding into one addition, derived from `floatFormats`. Names ending in `Bits` are f32
 * bit patterns without the sign.
 */
export interface FormatRule {
  readonly fractionBits: number;
  /** f64 biased exponent of the smallest normal: below it the spacing of values no longer shrinks. */
  readonly minExponentOfF64: number;
  /** Smallest double that no longer rounds to a finite value. */
  readonly overflowsFrom: number;
  /** The result of an overflow: infinity, or NaN in a format without infinity. */
  readonly overflow: number;
  /** f32 fraction bits that the format lacks. */
  readonly dropped: number;
  readonly minNormalBits: number;
  readonly overflowsFromBits: number;
  readonly overflowBits: number;
  /** The f32 exponent bias minus the format's, shifted to the position of the f32 exponent. */
  readonly rebias: number;
  /** Adding this to a magnitude below the smallest normal, then subtracting it, rounds to the subnormals' spacing. */
  readonly subnormalAnchor: number;
  readonly perMinSubnormal: number;
  readonly signShift: number;
  readonly overflowCode: number;
  readonly nanCode: number;
}

export const F32_INFINITY_BITS = 0x7f800000;
export const F32_NAN_BITS = 0x7fc00000;

/** 1.5 · 2^52: a double of that size has spacing 1, so adding it rounds to an integer, ties to even. */
export const INTEGER_ANCHOR: number = 1.5 * 2 ** 52;

const float = new Float32Array(1);
const floatBits = new Int32Array(float.buffer);

function bitsOfF32(x: number): number {
  float[0] = x;
  return floatBits[0] as number;
}

function formatRule(dtype: NarrowDType): FormatRule {
  const format = floatFormats[dtype];
  const halfStep = 2 ** (format.maxExponent - format.fractionBits - 1);
  const tie = format.maxFinite + halfStep;
  // In a format with infinity the largest fraction is all ones, so the tie above it rounds up, to even. Without
  // infinity (OCP FP8 e4m3) the all-ones fraction is NaN, the largest fraction is even, and the tie rounds down to it.
  const next = format.hasInfinity ? 0 : 1;
  const nanCode = format.hasInfinity
    ? ((2 ** (format.bits - 1 - format.fractionBits) - 1) << format.fractionBits) |
      (1 << (format.fractionBits - 1))
    : 2 ** (format.bits - 1) - 1;
  return {
    fractionBits: format.fractionBits,
    minExponentOfF64: format.minExponent + 1023,
    overflowsFrom: tie + next * 2 ** (format.maxExponent - 52),
    overflow: format.hasInfinity ? Number.POSITIVE_INFINITY : Number.NaN,
    dropped: 23 - format.fractionBits,
    minNormalBits: bitsOfF32(format.minNormal),
    overflowsFromBits: bitsOfF32(tie) + next,
    overflowBits: format.hasInfinity ? F32_INFINITY_BITS : F32_NAN_BITS,
    rebias: (126 + format.minExponent) << 23,
    subnormalAnchor: INTEGER_ANCHOR * format.minSubnormal,
    perMinSubnormal: 1 / format.minSubnormal,
    signShift: 32 - format.bits,
    overflowCode: format.hasInfinity
      ? (2 ** (format.bits - 1 - format.fractionBits) - 1) << format.fractionBits
      : nanCode,
    nanCode,
  };
}

export const formatRules: Readonly<Record<NarrowDType, FormatRule>> = {
  f16: formatRule("f16"),
  bf16: formatRule("bf16"),
  f8e4m3: formatRule("f8e4m3"),
  f8e5m2: formatRule("f8e5m2"),
};
