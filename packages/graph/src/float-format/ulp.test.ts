import { describe, expect, it } from "vitest";
import { decode, encode } from "./bits.js";
import { ulpDistance } from "./ulp.js";

describe("ulpDistance", () => {
  it.each(["f16", "bf16"] as const)(
    "is 1 between all neighbors of %s, from -infinity to infinity",
    (dtype) => {
      let last = Number.NEGATIVE_INFINITY;
      let steps = 0;
      for (let bits = encode(dtype, Number.NEGATIVE_INFINITY) - 1; bits > 0x8000; bits--, steps++) {
        const value = decode(dtype, bits);
        if (ulpDistance(dtype, last, value) !== 1) expect.fail(`${last} to ${value}`);
        last = value;
      }
      for (let bits = 0; bits <= encode(dtype, Number.POSITIVE_INFINITY); bits++, steps++) {
        const value = decode(dtype, bits);
        if (ulpDistance(dtype, value, last) !== 1) expect.fail(`${last} to ${value}`);
        last = value;
      }
      expect(ulpDistance(dtype, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY)).toBe(steps);
    },
  );

  it.each([
    ["f32", 1, 1 + 2 ** -23, 1],
    ["f32", -(2 ** -149), 2 ** -149, 2],
    ["f32", -1, 1, 2 * 0x3f800000],
    ["f16", 1, 1.5, 512],
    ["f16", 65504, Number.POSITIVE_INFINITY, 1],
    ["f16", 1, 1.0001, 0],
    ["f16", 0, -0, 0],
    ["f16", Number.NaN, Number.NaN, 0],
    ["f16", Number.NaN, 1, Number.POSITIVE_INFINITY],
    ["f16", Number.POSITIVE_INFINITY, Number.NaN, Number.POSITIVE_INFINITY],
    ["f8e4m3", 448, 416, 1],
    ["f8e4m3", 448, 1000, Number.POSITIVE_INFINITY],
    ["f8e5m2", -1, 1, 120],
  ] as const)("%s: %d and %d", (dtype, a, b, want) => {
    expect(ulpDistance(dtype, a, b)).toBe(want);
    expect(ulpDistance(dtype, b, a)).toBe(want);
  });
});
