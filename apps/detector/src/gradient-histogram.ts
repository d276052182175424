/** The gradients of a step by binary exponent, as the MXNet talk plots them, and the share that float16 loses. */
import { textTable } from "@mp/cli/training";
import { floatFormats } from "@mp/core/graph";
import { type ExponentHistogram, shareAtScale } from "@mp/core/report";

/** f16's smallest normal number, its smallest subnormal, and half of that, below which values round to 0. */
const { minExponent: SMALLEST_NORMAL, maxExponent: LARGEST, fractionBits } = floatFormats.f16;
const SMALLEST_SUBNORMAL = SMALLEST_NORMAL - fractionBits;
const SMALLEST_KEPT = SMALLEST_SUBNORMAL - 1;

const WIDEST_BAR = 40;

/** Fraction of the nonzero gradients that are below 2^exponent. */
export function shareBelow({ first, counts }: ExponentHistogram, exponent: number): number {
  const all = counts.reduce((sum, count) => sum + count, 0);
  const below = counts.reduce((sum, count, index) => (first + index < exponent ? sum + count : sum), 0);
  return all === 0 ? 0 : below / all;
}

/**
 * Fraction of the nonzero gradients that f16 rounds to 0 after multiplication by the scale, rounded down to a power
 * of two.
 */
export function shareFlushed(histogram: ExponentHistogram, scale: number): number {
  return shareAtScale(histogram, "f16", scale).zero;
}

/** Formats a histogram, two exponents per line. */
export function formatHistogram(histogram: ExponentHistogram): string {
  const { first, counts, zeros } = histogram;
  const all = counts.reduce((sum, count) => sum + count, 0);
  const pairs = new Map<number, number>();
  counts.forEach((count, index) => {
    const pair = 2 * Math.floor((first + index) / 2);
    pairs.set(pair, (pairs.get(pair) ?? 0) + count);
  });
  const most = Math.max(1, ...pairs.values());
  const rows = [...pairs].map(([exponent, count]) => [
    `2^${exponent} … 2^${exponent + 2}`,
    percent(count / all),
    "█".repeat(Math.round((WIDEST_BAR * count) / most)).padEnd(WIDEST_BAR),
    rangeName(exponent),
  ]);
  return [
    textTable(["gradients, not scaled", "share", "".padEnd(WIDEST_BAR), "in float16"], rows),
    `Exactly 0: ${percent(zeros / Math.max(1, zeros + all))}. Of the others below 2^${SMALLEST_NORMAL}, the smallest normal number: ${percent(shareBelow(histogram, SMALLEST_NORMAL))}; below 2^${SMALLEST_SUBNORMAL}, the smallest subnormal: ${percent(shareBelow(histogram, SMALLEST_SUBNORMAL))}; rounded to 0: ${percent(shareFlushed(histogram, 1))}.`,
  ].join("\n");
}

function rangeName(exponent: number): string {
  if (exponent >= SMALLEST_NORMAL) return exponent > LARGEST ? "infinite" : "normal";
  return exponent + 2 <= SMALLEST_KEPT
    ? "0"
    : exponent >= SMALLEST_SUBNORMAL
      ? "subnormal"
      : "0 or the last bit";
}

export const percent = (share: number): string => `${(100 * share).toFixed(2)} %`;
