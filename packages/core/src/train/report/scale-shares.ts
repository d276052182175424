import { type FloatDType, floatFormats, type HalfDType } from "@mp/graph";
import { MOST_LOST } from "../diagnosis/find-remedies.js";
import type { ExponentHistogram } from "./counts/exponent-counts.js";

/** Fractions of nonzero values, multiplied by a scale, that become 0, subnormal or infinite in a dtype. */
export interface ScaleShare {
  /** A power of two. */
  readonly scale: number;
  /** Fraction that rounds to 0: below half of the smallest subnormal. */
  readonly zero: number;
  /** Fraction kept with fewer bits: below the smallest normal number. */
  readonly subnormal: number;
  /** Fraction that does not fit: 2^(largest exponent + 1) or more. */
  readonly overflow: number;
}

/** Exponents of the scales that a report lists: 2^0 … 2^24. */
const SCALE_EXPONENTS: readonly number[] = Array.from({ length: 25 }, (_, k) => k);

/** Safety factor between the batch's largest gradient and the half dtype's largest number, since batches differ. */
const MARGIN = 4;

/**
 * The effect of a dtype of 16 or 8 bits on a histogram's finite nonzero values after multiplication by a scale (rounded down to a
 * power of two; default 1). A power of two shifts every exponent and changes no digit, so the histogram at scale 1 is
 * enough for all scales, up to rounding at the limits.
 */
export function shareAtScale(histogram: ExponentHistogram, dtype: FloatDType, scale = 1): ScaleShare {
  const { minExponent, maxExponent, fractionBits } = floatFormats[dtype];
  const smallestKept = minExponent - fractionBits - 1;
  const k = Math.floor(Math.log2(scale));
  const finite = histogram.counts.reduce((sum, count) => sum + count, 0);
  const share = (isCounted: (exponent: number) => boolean): number => {
    const counted = histogram.counts.filter((_, index) => isCounted(histogram.first + index + k));
    return finite === 0 ? 0 : counted.reduce((sum, count) => sum + count, 0) / finite;
  };
  return {
    scale: 2 ** k,
    zero: share((exponent) => exponent < smallestKept),
    subnormal: share((exponent) => exponent >= smallestKept && exponent < minExponent),
    overflow: share((exponent) => exponent > maxExponent),
  };
}

/** The shares at scales 2^0 … 2^24. */
export function scaleShares(histogram: ExponentHistogram, half: HalfDType): readonly ScaleShare[] {
  return SCALE_EXPONENTS.map((k) => shareAtScale(histogram, half, 2 ** k));
}

/** Exponents of the lowest and highest scale to recommend, and of the highest if few gradients underflow. */
const [LOWEST, HIGHEST, USUAL] = [-100, 100, 24];

/**
 * The largest power of two up to 2^24 at which four times the largest gradient is finite in the half dtype.
 * The scale is above 2^24 if more than a tenth of the gradients underflow at 2^24.
 */
export function recommendScale(histogram: ExponentHistogram, half: HalfDType): number {
  const { largest } = histogram;
  if (largest === 0) return 1;
  let fits = HIGHEST;
  while (fits > LOWEST && largest * MARGIN * 2 ** fits > floatFormats[half].maxFinite) fits--;
  const usual = 2 ** Math.min(fits, USUAL);
  return shareAtScale(histogram, half, usual).zero > MOST_LOST ? 2 ** fits : usual;
}
