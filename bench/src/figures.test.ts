import { describe, expect, it } from "vitest";
import { busySeconds } from "./processor-load.js";
import { median, toDecimals } from "./statistics.js";

describe("median", () => {
  it("is the middle value, or the mean of the two", () => {
    expect(median([3, 1, 2])).toBe(2);
    expect(median([4, 1, 2, 3])).toBe(2.5);
    expect(() => median([])).toThrow(RangeError);
  });
});

describe("toDecimals", () => {
  it("keeps so many decimals", () => {
    expect(toDecimals(1.23456, 3)).toBe(1.235);
    expect(toDecimals(2, 3)).toBe(2);
  });
});

describe("busySeconds", () => {
  it("adds up what was neither idle nor waiting", () => {
    expect(busySeconds("cpu  100 20 30 9999 8888 4 5 6 0 0\ncpu0 1 1 1 1\n")).toBeCloseTo(1.65, 9);
  });
});
