/** The gradients of a step by their binary exponents, as the MXNet talk draws them, and what a half makes of them. */
import { textTable } from "@mp/cli/training";
import { addHistograms, type ExponentHistogram, isHalf, type PrecisionReport } from "@mp/core";

/** f16's smallest normal number, its smallest subnormal, and half of that, below which values round to 0. */
const SMALLEST_NORMAL = -14;
const SMALLEST_SUBNORMAL = -24;
const SMALLEST_KEPT = -25;

const WIDEST_BAR = 40;

/** All gradients that the policy holds in a half, weights' and activations'; all there are where it holds none so. */
export function gradientsOf({ groups }: PrecisionReport): ExponentHistogram {
  const all = groups.filter(({ kind }) => kind === "gradients" || kind === "weight gradients");
  const held = all.filter(({ dtype }) => isHalf(dtype));
  return addHistograms((held.length > 0 ? held : all).map(({ histogram }) => histogram));
}

/** Of the gradients that are not 0, those below 2^exponent. */
export function shareBelow({ first, counts }: ExponentHistogram, exponent: number): number {
  const all = counts.reduce((sum, count) => sum + count, 0);
  const below = counts.reduce((sum, count, index) => (first + index < exponent ? sum + count : sum), 0);
  return all === 0 ? 0 : below / all;
}

/** Of the gradients that are not 0, those that f16 rounds to 0 once multiplied by the scale, to the power of two below it. */
export function shareFlushed(histogram: ExponentHistogram, scale: number): number {
  return shareBelow(histogram, SMALLEST_KEPT - Math.floor(Math.log2(scale)));
}

/** Two exponents a line. */
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
    rangeOf(exponent),
  ]);
  return [
    textTable(["gradients, not scaled", "share", "".padEnd(WIDEST_BAR), "in float16"], rows),
    `Exactly 0: ${percent(zeros / Math.max(1, zeros + all))}. Of the others below 2^${SMALLEST_NORMAL}, the smallest normal number: ${percent(shareBelow(histogram, SMALLEST_NORMAL))}; below 2^${SMALLEST_SUBNORMAL}, the smallest subnormal: ${percent(shareBelow(histogram, SMALLEST_SUBNORMAL))}; rounded to 0: ${percent(shareFlushed(histogram, 1))}.`,
  ].join("\n");
}

function rangeOf(exponent: number): string {
  if (exponent >= SMALLEST_NORMAL) return exponent > 15 ? "infinite" : "normal";
  return exponent + 2 <= SMALLEST_KEPT
    ? "0"
    : exponent >= SMALLEST_SUBNORMAL
      ? "subnormal"
      : "0 or the last bit";
}

export const percent = (share: number): string => `${(100 * share).toFixed(2)} %`;
