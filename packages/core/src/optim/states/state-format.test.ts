import { type FloatDType, floatFormats, type HostTensor, key, type Tensor, tensor } from "@mp/graph";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { numbersOf } from "../../../../graph/test/evaluate-op.js";
import { runTraced } from "../../../../graph/test/run-traced.js";
import type { Signs } from "./dynamic-map.js";
import { decodeState, encodeState, type StateFormat } from "./state-format.js";

const SIGNS = ["both", "nonNegative"] as const;
const FORMATS = ["bf16", "f16", "f8e4m3", "u8"] as const;

/** All numbers in the order of their codes, as `create_dynamic_map` of bitsandbytes makes them. */
function mapOf(signs: Signs): readonly number[] {
  const positive = Array.from({ length: 7 }, (_, decade) => {
    const items = (signs === "both" ? 1 : 2) * 2 ** decade;
    return Array.from({ length: items }, (_, at) => 10 ** (decade - 6) * (0.1 + (0.9 * (at + 0.5)) / items));
  }).flat();
  const negative = signs === "both" ? positive.map((number) => -number) : [];
  return [...negative, ...positive, 0, 1].sort((a, b) => a - b);
}
const dynamicMaps: Readonly<Record<Signs, readonly number[]>> = {
  both: mapOf("both"),
  nonNegative: mapOf("nonNegative"),
};

interface Result {
  readonly codes: readonly number[];
  readonly scales: readonly number[];
  readonly values: readonly number[];
}

function stored(x: readonly number[], format: StateFormat, signs: Signs, seed?: number): Result {
  const data = { x: tensor(Float32Array.from(x), [x.length]) };
  const made = runTraced(data, ({ x }) => {
    const kept = encodeState(x as Tensor, format, signs, seed === undefined ? undefined : key(seed));
    return {
      codes: kept.codes,
      ...(kept.scales ? { scales: kept.scales } : {}),
      values: decodeState(kept, signs),
    };
  }) as Readonly<Record<string, HostTensor>>;
  const [codes, values] = [made["codes"], made["values"]].map(numbersOf) as [number[], number[]];
  return { codes, values, scales: made["scales"] === undefined ? [] : numbersOf(made["scales"]) };
}

/** Values of many magnitudes, in lists whose lengths are not multiples of a block. */
const values = (signs: Signs): fc.Arbitrary<number[]> =>
  fc.array(
    fc
      .tuple(fc.double({ min: 1, max: 10, noNaN: true }), fc.integer({ min: -44, max: 3 }), fc.boolean())
      .map(([digits, exponent, isNegative]) =>
        Math.fround((isNegative && signs === "both" ? -1 : 1) * digits * 10 ** exponent),
      ),
    { minLength: 1, maxLength: 600 },
  );

const largestOf = (x: readonly number[]): number =>
  x.reduce((most, each) => Math.max(most, Math.abs(each)), 0);

describe.each(SIGNS)("codes of 8 bits for values of sign: %s", (signs) => {
  const map = dynamicMaps[signs];

  it("has 256 numbers in order", () => {
    expect(map).toHaveLength(256);
    expect([...map]).toEqual([...map].sort((a, b) => a - b));
    expect(map[signs === "both" ? 127 : 0]).toBe(0);
    expect(map[255]).toBe(1);
  });

  it("is of the nearest number", () => {
    // Both sides of the middle of every two neighbors, and the numbers themselves.
    const points = [...map].flatMap((number, code) => {
      const middle = (number + (map[code + 1] ?? 1)) / 2;
      const [width, low] = [(map[code + 1] ?? 1) - number, map[0] as number];
      return [number, middle - width * 1e-3, middle + width * 1e-3].map((x) => Math.max(low, Math.min(1, x)));
    });
    const rows = Math.ceil(points.length / 255);
    const x = Array.from({ length: rows }, (_, row) => [
      1,
      ...points.slice(row * 255, (row + 1) * 255),
      ...Array.from({ length: Math.max(0, (row + 1) * 255 - points.length) }, () => 0),
    ]).flat();
    const nearest = (value: number): number =>
      map.reduce(
        (best, number, code) => (Math.abs(number - value) < Math.abs((map[best] ?? 9) - value) ? code : best),
        0,
      );
    expect(stored(x, "u8", signs).codes).toEqual(x.map(nearest));
  });
});

describe("a stored tensor", () => {
  it.each(SIGNS)("of any values is off by half a step of its format at most: %s", (signs) => {
    fc.assert(
      fc.property(values(signs), fc.constantFrom(...FORMATS), (x, format) => {
        const { values: got, scales } = stored(x, format, signs);
        for (const [index, value] of x.entries()) {
          const limit = format === "u8" ? stepOfMap(x, index, signs) : stepOf(format, value, scales[0] ?? 1);
          expect(Math.abs((got[index] ?? Number.NaN) - value), `${index}: ${value}`).toBeLessThanOrEqual(
            limit,
          );
        }
      }),
      { numRuns: 60 },
    );
  });
});

describe("stochastic rounding", () => {
  it.each(FORMATS)("to %s has the value as its mean, on both sides of each step", (format) => {
    fc.assert(
      fc.property(
        fc.constantFrom(...SIGNS),
        fc.double({ min: 0.002, max: 0.99, noNaN: true }),
        (signs, share) => {
          const value = Math.fround(share);
          // Each block begins with its largest value.
          const x = Array.from({ length: 4096 }, (_, index) => (index % 256 === 0 ? 1 : value));
          const { values } = stored(x, format, signs, 7);
          const drawn = values.filter((_, index) => index % 256 !== 0);
          const [low, high] = [Math.min(...drawn), Math.max(...drawn)];
          const mean = drawn.reduce((sum, each) => sum + each, 0) / drawn.length;
          expect(new Set(drawn).size).toBeLessThanOrEqual(2);
          // A value so near to a number of the format that no draw leaves that number adds a part of it.
          expect(Math.abs(mean - value)).toBeLessThanOrEqual(0.05 * (high - low) + 1e-3 * value);
        },
      ),
      { numRuns: 10 },
    );
  });
});

it.each(FORMATS)("values that are not finite do not stop %s, and an infinity shows", (format) => {
  const x = [1, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0];
  const { codes, scales } = stored(x, format, "both");
  expect([...codes, ...scales].every(Number.isFinite)).toBe(false);
});

it("a block of zeros, and one with a huge value, keep what they can", () => {
  const zeros = Array.from({ length: 300 }, () => 0);
  for (const format of FORMATS) expect(stored(zeros, format, "both").values.map(Math.abs)).toEqual(zeros);
  const { values } = stored([3e38, ...Array.from({ length: 255 }, () => 1), 1, 0.5], "u8", "both");
  // Values far below the huge one become 0; the next block is not affected.
  expect(values.slice(1, 256).every((value) => value === 0)).toBe(true);
  expect(values.slice(256)).toEqual([1, expect.closeTo(0.5, 2)]);
});

/** Half a step of a float format near a value, plus the roundings of scaling it. */
function stepOf(format: FloatDType, value: number, scale: number): number {
  const { fractionBits, minSubnormal } = floatFormats[format];
  return (
    Math.max(Math.abs(value) * 2 ** -(fractionBits + 1), (scale * minSubnormal) / 2) * (1 + 1e-4) + 2 ** -149
  );
}

/** Distance from a value to the map's nearest number, in the value's unit, and a little more. */
function stepOfMap(x: readonly number[], index: number, signs: Signs): number {
  const from = index - (index % 256);
  const most = Math.max(largestOf(x.slice(from, from + 256)), 2 ** -120);
  const share = (x[index] as number) / most;
  const distance = Math.min(...dynamicMaps[signs].map((number) => Math.abs(number - share)));
  return most * (distance + 1e-7 + Math.abs(share) * 1e-5) + 2 ** -149;
}

it("stochastic rounding of numbers near 0 has their mean, of either sign", () => {
  fc.assert(
    fc.property(fc.double({ min: 2e-8, max: 4e-7, noNaN: true }), fc.boolean(), (size, isNegative) => {
      const value = Math.fround(isNegative ? -size : size);
      const x = Array.from({ length: 16_384 }, (_, index) => (index % 256 === 0 ? 1 : value));
      const drawn = stored(x, "u8", "both", 7).values.filter((_, index) => index % 256 !== 0);
      const mean = drawn.reduce((sum, each) => sum + each, 0) / drawn.length;
      // Draws of 0 and of the first number, 5.5e-7: four deviations of their mean.
      expect(Math.abs(mean - value)).toBeLessThan(4 * 5.5e-7 * Math.sqrt(0.25 / drawn.length));
    }),
    { numRuns: 20 },
  );
});
