import { describe, expect, it } from "vitest";
import { erf, erfc } from "./erf.js";

/** x, erf(x), erfc(x) from mpmath at 40 digits; one point in each interval of the approximation. */
const POINTS = [
  [0.3, 0.3286267594591274, 0.6713732405408726],
  [0.84375, 0.7672256612323416, 0.23277433876765838],
  [1, 0.8427007929497149, 0.15729920705028513],
  [1.25, 0.9229001282564583, 0.07709987174354177],
  [2, 0.9953222650189527, 0.004677734981047266],
  [2.857142857, 0.9999466876885658, 5.3312311434252784e-5],
  [5.9, 0.9999999999999999, 7.190409783550478e-17],
] as const;

const relative = (a: number, b: number): number => Math.abs(a / b - 1);

describe("erf and erfc", () => {
  it.each(POINTS)("at %d and its negative", (x, want, wantComplement) => {
    expect(relative(erf(x), want)).toBeLessThan(4e-16);
    expect(erf(-x)).toBe(-erf(x));
    expect(relative(erfc(x), wantComplement)).toBeLessThan(4e-16);
    expect(relative(erfc(-x), 1 + want)).toBeLessThan(4e-16);
  });

  it("at the ends", () => {
    const { NaN: nan, POSITIVE_INFINITY: infinity } = Number;
    expect([0, -0, infinity, -infinity, nan].map(erf)).toEqual([0, -0, 1, -1, nan]);
    expect([0, infinity, -infinity, nan, 30].map(erfc)).toEqual([1, 0, 2, nan, 0]);
    expect(erf(1e-300)).toBeGreaterThan(1e-300);
  });
});
