// Mutation tests of the suite's own checkers: each must distinguish what it is meant to distinguish.

import { decode, encode, type HostTensor, tensor } from "@mp/graph";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Allowance, EXACT } from "../src/compare/allowance.js";
import { compareTensors } from "../src/compare/compare-tensors.js";
import { compareAtScale } from "../src/compare/graph-allowance.js";
import { hostData } from "../src/host-data.js";

const INFINITE = Number.POSITIVE_INFINITY;
const GENEROUS: Allowance = { ulp: 1e6, floor: 1e6, signedZero: false, flushes: true };

const f32 = (...numbers: readonly number[]): HostTensor => tensor(Float32Array.from(numbers));

/** Pairs that no allowance may accept. */
const NEVER: readonly (readonly [got: number, want: number])[] = [
  [Number.NaN, 1],
  [1, Number.NaN],
  [Number.NaN, 0],
  [0, Number.NaN],
  [Number.NaN, INFINITE],
  [INFINITE, Number.NaN],
  [INFINITE, -INFINITE],
  [-INFINITE, INFINITE],
  [INFINITE, 3.4e38],
  [3.4e38, INFINITE],
  [-3.4e38, -INFINITE],
  [-INFINITE, -3.4e38],
];

describe("compareTensors", () => {
  it.each(["f32", "f16", "bf16", "f8e5m2"] as const)(
    "never takes one kind of number for another in %s",
    (dtype) => {
      for (const [got, want] of NEVER) {
        const large = dtype === "f16" ? 65504 : dtype === "f8e5m2" ? 57344 : 3.3895313892515355e38;
        const held = (x: number): number =>
          Math.abs(x) > 1e38 && Number.isFinite(x) ? Math.sign(x) * large : x;
        const [a, b] = [hostData(dtype, [1, held(got), 2]), hostData(dtype, [1, held(want), 2])];
        expect(compareTensors(a, b, GENEROUS), `${got} for ${want}`).toMatch(/^at \[1\] /);
        expect(compareTensors(b, a, GENEROUS), `${want} for ${got}`).toMatch(/^at \[1\] /);
      }
    },
  );

  it.each(["f32", "f16", "bf16"] as const)(
    "takes every NaN for NaN, and each infinity for itself, in %s",
    (dtype) => {
      const one = hostData(dtype, [Number.NaN, INFINITE, -INFINITE]);
      expect(compareTensors(one, one, EXACT)).toBeUndefined();
      if (dtype === "f16") {
        const payload = tensor(Uint16Array.of(0x7e01, 0x7c00, 0xfc00), [3], "f16");
        expect(compareTensors(payload, one, EXACT)).toBeUndefined();
      }
    },
  );

  it("minds the sign of zero where it is told to, and only there", () => {
    expect(compareTensors(f32(-0), f32(0), EXACT)).toMatch(/sign of zero/);
    expect(compareTensors(f32(0), f32(-0), EXACT)).toMatch(/sign of zero/);
    expect(compareTensors(f32(-0), f32(0), { ...EXACT, signedZero: false })).toBeUndefined();
    expect(compareTensors(hostData("f16", [-0]), hostData("f16", [0]), EXACT)).toMatch(/sign of zero/);
  });

  it.each(["f32", "f16", "bf16"] as const)("counts ulps to the last one in %s", (dtype) => {
    const bits = fc.integer({
      min: 0,
      max: dtype === "f32" ? 0x7f7ffff0 : dtype === "f16" ? 0x7bf0 : 0x7f70,
    });
    fc.assert(
      fc.property(bits, fc.integer({ min: 0, max: 8 }), fc.boolean(), (start, steps, negative) => {
        const sign = negative ? -1 : 1;
        const want = hostData(dtype, [sign * decode(dtype, start)]);
        const got = hostData(dtype, [sign * decode(dtype, start + steps)]);
        const allowed = (ulp: number): boolean =>
          compareTensors(got, want, { ...EXACT, signedZero: false, ulp }) === undefined;
        return allowed(steps) && (steps === 0 || !allowed(steps - 1));
      }),
      { seed: 7, numRuns: 500 },
    );
  });

  it("steps across zero", () => {
    const tiny = 2 ** -149;
    expect(compareTensors(f32(tiny), f32(-tiny), { ...EXACT, ulp: 2 })).toBeUndefined();
    expect(compareTensors(f32(tiny), f32(-tiny), { ...EXACT, ulp: 1 })).toMatch(/2 ulp/);
  });

  it("measures no ulp below the floor", () => {
    const absolute: Allowance = { ...EXACT, ulp: 2, floor: 1 };
    expect(compareTensors(f32(2 ** -22), f32(0), absolute)).toBeUndefined();
    expect(compareTensors(f32(1.01 * 2 ** -22), f32(0), absolute)).toBeDefined();
    expect(compareTensors(f32(1 + 2 ** -22), f32(1), absolute)).toBeUndefined();
    expect(compareTensors(f32(1 + 3 * 2 ** -23), f32(1), absolute)).toBeDefined();
    // Above the floor it is relative again.
    expect(compareTensors(f32(1024 + 2 ** -12), f32(1024), absolute)).toBeUndefined();
    expect(compareTensors(f32(1024 + 3 * 2 ** -13), f32(1024), absolute)).toBeDefined();
  });

  it("lets subnormals be zero only for who flushes", () => {
    const small = f32(2 ** -130);
    expect(compareTensors(f32(0), small, { ...EXACT, flushes: true })).toBeUndefined();
    expect(compareTensors(f32(0), small, EXACT)).toBeDefined();
    // One engine rounds up to the smallest normal number, another flushes before rounding.
    expect(compareTensors(f32(0), f32(2 ** -126), { ...EXACT, flushes: true })).toBeUndefined();
    expect(compareTensors(f32(0), f32(2 ** -126), EXACT)).toBeDefined();
    expect(compareTensors(f32(0), f32(2 ** -125), { ...EXACT, flushes: true })).toBeDefined();
    expect(compareTensors(small, f32(0), { ...EXACT, flushes: true })).toBeDefined();
  });

  it.each([
    ["nothing", undefined, f32(1), "missing"],
    ["another dtype", hostData("f16", [1]), f32(1), "f16"],
    ["another shape", f32(1, 2), f32(1), "f32[2]"],
    ["another rank", tensor(Float32Array.of(1), []), f32(1), "f32[]"],
    [
      "another array",
      { dtype: "f32", shape: [1], data: Uint32Array.of(1) } as unknown as HostTensor,
      f32(1),
      "Uint32Array",
    ],
    [
      "too few elements",
      { dtype: "f32", shape: [1], data: Float32Array.of() } as unknown as HostTensor,
      f32(1),
      "of 0",
    ],
  ])("refuses %s", (_, got, want, words) => {
    expect(compareTensors(got, want, GENEROUS)).toContain(words);
  });

  it("is exact for integers and bools, whatever the allowance", () => {
    for (const dtype of ["i32", "i64", "u64", "u8", "bool"] as const) {
      expect(compareTensors(hostData(dtype, [1, 0]), hostData(dtype, [1, 1]), GENEROUS)).toMatch(
        /^at \[1\] is 0, want 1$/,
      );
    }
  });

  it("names the place by its coordinates", () => {
    const got = tensor(Float32Array.of(0, 0, 0, 0, 9, 0), [2, 3]);
    expect(compareTensors(got, tensor(new Float32Array(6), [2, 3]), EXACT)).toMatch(
      /^at \[1, 1\] is 9, want 0/,
    );
  });
});

describe("compareAtScale", () => {
  it("is relative to the largest element", () => {
    expect(compareAtScale(f32(100, 0.5), f32(100, 0), 1e-2)).toBeUndefined();
    expect(compareAtScale(f32(100, 1.5), f32(100, 0), 1e-2)).toContain("within");
    expect(compareAtScale(f32(101.5, 0), f32(100, 0), 1e-2)).toBeDefined();
  });

  it.each(NEVER)("never takes %d for %d", (got, want) => {
    expect(compareAtScale(f32(1, got), f32(1, want), 10)).toBeDefined();
    expect(compareAtScale(f32(1, want), f32(1, got), 10)).toBeDefined();
  });

  it("without slack is exact", () => {
    expect(compareAtScale(f32(1 + 2 ** -23), f32(1), 0)).toBeDefined();
    expect(compareAtScale(f32(1), f32(1), 0)).toBeUndefined();
  });

  it("is exact for integers", () => {
    expect(compareAtScale(hostData("i32", [100]), hostData("i32", [101]), 0.5)).toBeDefined();
  });
});

describe("the mutation of one element", () => {
  it("is seen wherever it is", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 40 }),
        fc.nat(),
        fc.constantFrom(Number.NaN, INFINITE, -INFINITE, 0.25),
        (size, place, value) => {
          const want = tensor(Float32Array.from({ length: size }, (_, at) => at + 1));
          const data = Float32Array.from(want.data);
          data[place % size] = value;
          return (
            compareTensors(tensor(data), want, { ...EXACT, ulp: 4 }) !== undefined &&
            compareAtScale(tensor(data), want, 1e-6) !== undefined
          );
        },
      ),
      { seed: 3 },
    );
  });

  it("by one bit is seen in every half", () => {
    for (const dtype of ["f16", "bf16"] as const) {
      const bits = encode(dtype, 1.5);
      for (let bit = 0; bit < 16; bit++) {
        const got = tensor(Uint16Array.of(bits ^ (1 << bit)), [1], dtype);
        expect(compareTensors(got, hostData(dtype, [1.5]), EXACT), `${dtype} bit ${bit}`).toBeDefined();
      }
    }
  });
});
