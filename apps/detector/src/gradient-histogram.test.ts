import type { ExponentHistogram } from "@mp/core/report";
import { describe, expect, it } from "vitest";
import { formatHistogram, shareBelow, shareFlushed } from "./gradient-histogram.js";

/** Ten values: one each from 2^-28 to 2^-21, two at 2^-10; and ten zeros. */
const histogram: ExponentHistogram = {
  first: -28,
  counts: [1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2],
  zeros: 10,
  infinities: 0,
  nans: 0,
  largest: 2 ** -10,
};

describe("gradient histogram", () => {
  it("says what share lies below a power of two, of what is not 0", () => {
    expect([-28, -25, -14, 0].map((exponent) => shareBelow(histogram, exponent))).toEqual([0, 0.3, 0.8, 1]);
    expect(shareBelow({ ...histogram, counts: [] }, 0)).toBe(0);
  });

  it("says what a scale saves from float16's 0, which begins at half of its smallest number", () => {
    expect([1, 2, 4, 8, 1024].map((scale) => shareFlushed(histogram, scale))).toEqual([0.3, 0.2, 0.1, 0, 0]);
  });

  it("prints what float16 makes of each line", () => {
    const lines = formatHistogram(histogram).split("\n");
    expect(lines.filter((line) => / 0$/.test(line))).toHaveLength(1);
    expect(lines.find((line) => line.startsWith("2^-26"))).toMatch(/20\.00 %.*0 or the last bit/);
    expect(lines.find((line) => line.startsWith("2^-24"))).toMatch(/subnormal/);
    expect(lines.find((line) => line.startsWith("2^-10"))).toMatch(/normal$/);
    expect(lines.at(-1)).toMatch(
      /Exactly 0: 50\.00 %.*normal number: 80\.00 %.*subnormal: 40\.00 %.*to 0: 30\.00 %/,
    );
  });
});
