import { UsageError } from "@mp/cli";
import { describe, expect, it } from "vitest";
import { largest, parseSize } from "./budget.js";

describe("--budget", () => {
  it("reads sizes", () => {
    expect(["2GiB", "512M", "1.5 kB", "1000", "1e9"].map(parseSize)).toEqual([
      2 ** 31,
      2 ** 29,
      1536,
      1000,
      1e9,
    ]);
    for (const wrong of ["", "much", "2XB", "-1G", "0"]) expect(() => parseSize(wrong)).toThrow(UsageError);
  });

  it("finds the largest batch that fits, in few trials", () => {
    for (const limit of [0, 1, 2, 7, 8, 9, 100, 1000]) {
      let trials = 0;
      const fits = (batch: number): boolean => {
        trials++;
        return batch <= limit;
      };
      expect(largest(fits, 1000)).toBe(limit);
      expect(trials).toBeLessThan(24);
    }
    expect(largest(() => true, 1000)).toBe(1000);
  });
});
