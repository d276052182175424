import { floatFormats, type HalfDType } from "../dtype.js";
import type { ExponentHistogram } from "./exponent-counts.js";

/** What becomes of gradients that are multiplied by a scale and rounded to a half: shares of those that are not 0. */
export interface ScaleShare {
  /** A power of two. */
  readonly scale: number;
  /** Rounded to 0: what is below half of the smallest subnormal. */
  readonly zero: number;
  /** Kept with fewer bits: what is below the smallest normal number. */
  readonly subnormal: number;
  /** Infinite: what is 2^(largest exponent + 1) or more. */
  readonly overflow: number;
}

/** Exponents of the scales that a report goes through: 2^0 … 2^24. */
const SCALE_EXPONENTS: readonly number[] = Array.from({ length: 25 }, (_, k) => k);

/** How far the largest gradient of the batch is kept away from the half's largest number: batches differ. */
const MARGIN = 4;

/**
 * What a half makes of the values of a histogram that are finite and not 0, multiplied by a scale (rounded down to a
 * power of two; default 1). A power of two moves every exponent and changes no digit, so the histogram at scale 1 tells
 * it for all, to within the rounding at the very edges.
 */
export function shareAtScale(histogram: ExponentHistogram, half: HalfDType, scale = 1): ScaleShare {
  const { minExponent, maxExponent, fractionBits } = floatFormats[half];
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

/** Shares at scales 2^0 … 2^24. */
export function scaleShares(histogram: ExponentHistogram, half: HalfDType): readonly ScaleShare[] {
  return SCALE_EXPONENTS.map((k) => shareAtScale(histogram, half, 2 ** k));
}

/**
 * The largest power of two of 2^0 … 2^24 at which the largest gradient, four times over, is still finite in the half;
 * 1 where none is. That is where the fewest gradients are lost on this batch without one overflowing.
 */
export function recommendedScale(largest: number, half: HalfDType): number {
  if (largest === 0) return 1;
  const fits = SCALE_EXPONENTS.filter((k) => largest * MARGIN * 2 ** k <= floatFormats[half].maxFinite);
  return 2 ** (fits.at(-1) ?? 0);
}
