import { describe, expect, it } from "vitest";
import {
  type GradientCase,
  gradientError,
  gradientSum,
  halfError,
  titled,
  withoutCase,
} from "./finite-differences.js";

/** The tests of a family's gradient rules: finite differences of both orders, half dtypes, and no rule left out. */
export function testGradients(
  rules: Parameters<typeof withoutCase>[0],
  cases: readonly GradientCase[],
): void {
  describe.each(titled(cases))("%s", (_, { fn, points }) => {
    it("agrees with finite differences", () => {
      expect(gradientError(fn, points)).toBeLessThan(2e-7);
    });
    it("stays in f16 and in bf16", () => {
      expect(halfError(fn, points, "f16")).toBeLessThan(2e-3);
      expect(halfError(fn, points, "bf16")).toBeLessThan(2e-2);
    });
  });

  describe.each(titled(cases.filter(({ second }) => second !== false)))("%s", (_, { fn, points }) => {
    it("has second derivatives that agree with finite differences", () => {
      expect(gradientError(gradientSum(fn), points)).toBeLessThan(1e-6);
    });
  });

  it("every rule of the family has a case", () => {
    expect(withoutCase(rules, cases)).toEqual([]);
  });
}
