import { decode, encode, roundTo } from "@mp/graph";
import { describe, expect, it } from "vitest";
import type { ExponentHistogram } from "./counts/exponent-counts.js";
import { recommendScale, scaleShares, shareAtScale } from "./scale-shares.js";

/** One value in the middle of each exponent from `first` on. */
const spread = (first: number, length: number): ExponentHistogram => ({
  first,
  counts: new Array<number>(length).fill(1),
  zeros: 7,
  infinities: 0,
  nans: 0,
  largest: 1.5 * 2 ** (first + length - 1),
});

describe.each([
  ["f16", -60, 90, 2 ** -14],
  ["bf16", -127, 255, 2 ** -126],
] as const)("shares of %s", (half, first, length, minNormal) => {
  it("are what rounding makes of the values, at every scale", () => {
    const shares = scaleShares(spread(first, length), half);
    expect(shares.map(({ scale }) => scale)).toEqual(Array.from({ length: 25 }, (_, k) => 2 ** k));
    for (const { scale, zero, subnormal, overflow } of shares) {
      const rounded = Array.from({ length }, (_, i) => roundTo(half, 1.5 * 2 ** (first + i) * scale));
      const share = (is: (x: number) => boolean): number => rounded.filter(is).length / length;
      expect([scale, zero]).toEqual([scale, share((x) => x === 0)]);
      expect([scale, subnormal]).toEqual([scale, share((x) => x > 0 && x < minNormal)]);
      expect([scale, overflow]).toEqual([scale, share((x) => x === Number.POSITIVE_INFINITY)]);
    }
  });
});

it.each(["f8e4m3", "f8e5m2"] as const)("the share that becomes 0 in %s is that of rounding", (dtype) => {
  for (const scale of [2 ** -3, 1, 2 ** 6]) {
    const rounded = Array.from({ length: 45 }, (_, i) =>
      decode(dtype, encode(dtype, 1.5 * 2 ** (i - 40) * scale)),
    );
    const zeros = rounded.filter((x) => x === 0).length;
    expect(zeros).toBeGreaterThan(0);
    expect(shareAtScale(spread(-40, 45), dtype, scale).zero).toBe(zeros / 45);
  }
});

/** A histogram of one gradient. */
const histogramOf = (largest: number) =>
  largest === 0
    ? { first: 0, counts: [], zeros: 1, infinities: 0, nans: 0, largest }
    : { first: Math.floor(Math.log2(largest)), counts: [1], zeros: 0, infinities: 0, nans: 0, largest };

describe("the recommended scale", () => {
  it("leaves room for a gradient four times the largest, and no more", () => {
    for (const largest of [1, 0.0447, 3e-3, 65504 / 4, 1e-3, 1e5, 1e12]) {
      const scale = recommendScale(histogramOf(largest), "f16");
      expect(Number.isInteger(Math.log2(scale))).toBe(true);
      expect(roundTo("f16", largest * scale * 4)).toBeLessThanOrEqual(65504);
      expect(largest * scale * 8).toBeGreaterThan(65504);
    }
  });

  it("is above 2^24 only where too many gradients would be 0, and below 1 where the largest would overflow", () => {
    expect(recommendScale(histogramOf(1e-7), "f16")).toBe(2 ** 24);
    expect(recommendScale(histogramOf(1e-18), "f16")).toBe(2 ** 73);
    expect(recommendScale(histogramOf(1e5), "f16")).toBe(2 ** -3);
    expect(recommendScale(histogramOf(0), "f16")).toBe(1);
  });

  it("counts nothing where there is nothing but zeros", () => {
    const none = { first: 0, counts: [], zeros: 3, infinities: 0, nans: 0, largest: 0 };
    expect(scaleShares(none, "f16")[0]).toEqual({ scale: 1, zero: 0, subnormal: 0, overflow: 0 });
  });
});
