import type { HalfDType } from "@mp/core";
import { floatFormats } from "@mp/core/graph";
import type { ExponentHistogram } from "@mp/core/report";

/** The axis of magnitudes: binary exponents, with a column for zeros at the left. */
export interface MagnitudeAxis {
  /** The exponents from `low` up to, not including, `high`. */
  readonly low: number;
  readonly high: number;
  /** Position of the column of zeros. */
  readonly zeros: readonly [number, number];
  readonly domain: readonly [number, number];
  readonly ticks: readonly number[];
}

const TICK_EVERY = 8;

/** Makes an axis wide enough for all histograms and for f16's range, in whole ticks. */
export function magnitudeAxis(histograms: readonly ExponentHistogram[]): MagnitudeAxis {
  const filled = histograms.filter(({ counts }) => counts.length > 0);
  const least = Math.min(-26, ...filled.map(({ first }) => first));
  const most = Math.max(18, ...filled.map(({ first, counts }) => first + counts.length));
  const low = Math.floor(least / TICK_EVERY) * TICK_EVERY;
  const high = Math.ceil(most / TICK_EVERY) * TICK_EVERY;
  const every = high - low > 128 ? 4 * TICK_EVERY : TICK_EVERY;
  const ticks = Array.from(
    { length: Math.floor((high - low) / every) + 1 },
    (_, index) => low + index * every,
  );
  return { low, high, zeros: [low - 4, low - 2], domain: [low - 5, high], ticks };
}

/** A range of exponents, and how a half dtype represents numbers in it. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
  readonly what: "zero" | "subnormal" | "normal" | "infinite";
}

/** The ranges in which a half dtype represents magnitudes differently, ascending, and clipped to the axis. */
export function stretches(half: HalfDType, { low, high }: MagnitudeAxis): readonly Stretch[] {
  const { minExponent, maxExponent, fractionBits } = floatFormats[half];
  const edges = [low, minExponent - fractionBits - 1, minExponent, maxExponent + 1, high];
  const names = ["zero", "subnormal", "normal", "infinite"] as const;
  return names
    .map((what, index) => ({
      from: Math.max(low, edges[index] as number),
      to: Math.min(high, edges[index + 1] as number),
      what,
    }))
    .filter(({ from, to }) => from < to);
}
