import { describe, expect, it } from "vitest";
import { floatFormats } from "../dtype.js";
import { MpError } from "../errors.js";
import { decode } from "./bits.js";
import { roundArray, roundTo } from "./round.js";

const NARROW = ["f16", "bf16", "f8e4m3", "f8e5m2"] as const;
const FLOATS = ["f32", ...NARROW] as const;

const scratch = new Float64Array(1);
const word = new BigInt64Array(scratch.buffer);

/** The double `steps` places away from the positive double `x`. */
function neighbor(x: number, steps: bigint): number {
  scratch[0] = x;
  word[0] = (word[0] ?? 0n) + steps;
  return scratch[0] ?? 0;
}

function finiteValues(dtype: (typeof NARROW)[number]): number[] {
  const values: number[] = [];
  for (let bits = 0; ; bits++) {
    const value = decode(dtype, bits);
    if (!Number.isFinite(value)) return values;
    values.push(value);
  }
}

describe.each(NARROW)("roundTo %s", (dtype) => {
  it("breaks every tie between neighbors to even and decides the doubles next to it", () => {
    const values = finiteValues(dtype);
    const array: number[] = [];
    const want: number[] = [];
    for (let bits = 0; bits + 1 < values.length; bits++) {
      const low = values[bits] ?? 0;
      const high = values[bits + 1] ?? 0;
      const tie = (low + high) / 2;
      const even = bits % 2 === 0 ? low : high;
      array.push(low, neighbor(tie, -1n), tie, neighbor(tie, 1n), high);
      want.push(low, low, even, high, high);
    }
    expect(values.length).toBeGreaterThan(2 ** (floatFormats[dtype].bits - 2));
    for (let i = 0; i < array.length; i++) {
      const got = roundTo(dtype, array[i] ?? 0);
      const negative = roundTo(dtype, -(array[i] ?? 0));
      if (!Object.is(got, want[i]) || !Object.is(negative, -(want[i] ?? 0))) {
        expect.fail(`${array[i]} rounds to ${got} and ${negative}, want ±${want[i]}`);
      }
    }
    expect(roundArray(dtype, Float64Array.from(array))).toEqual(Float64Array.from(want));
    expect(roundArray(dtype, Float64Array.from(array), new Float32Array(array.length))).toEqual(
      Float32Array.from(want),
    );
  });

  it("rounds f32 arrays as it rounds their elements: all ties, their f32 neighbors, random bits", () => {
    const values = finiteValues(dtype);
    const bits: number[] = [];
    const view = new DataView(new ArrayBuffer(4));
    for (let i = 0; i + 1 < values.length; i++) {
      view.setFloat32(0, ((values[i] ?? 0) + (values[i + 1] ?? 0)) / 2);
      const tie = view.getUint32(0);
      bits.push(tie - 1, tie, tie + 1, (tie | 0x80000000) >>> 0);
    }
    let state = 1;
    for (let i = 0; i < 400_000; i++) {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      bits.push(state);
    }
    const source = new Float32Array(Uint32Array.from(bits).buffer);
    const want = Float32Array.from(source, (x) => roundTo(dtype, x));
    const out = roundArray(dtype, source, new Float32Array(source.length));
    const inPlace = roundArray(dtype, source.slice());
    for (let i = 0; i < source.length; i++) {
      if (!Object.is(out[i], want[i]) || !Object.is(inPlace[i], want[i])) {
        expect.fail(
          `${source[i]} in an array rounds to ${out[i]}, in place ${inPlace[i]}, alone to ${want[i]}`,
        );
      }
    }
  });

  it("overflows where the format says", () => {
    const { maxFinite, maxExponent, fractionBits, hasInfinity } = floatFormats[dtype];
    const tie = maxFinite + 2 ** (maxExponent - fractionBits - 1);
    const overflow = hasInfinity ? Number.POSITIVE_INFINITY : Number.NaN;
    expect(roundTo(dtype, neighbor(tie, -1n))).toBe(maxFinite);
    expect(roundTo(dtype, neighbor(tie, 1n))).toBe(overflow);
    expect(roundTo(dtype, -neighbor(tie, 1n))).toBe(-overflow);
    expect(roundTo(dtype, Number.MAX_VALUE)).toBe(overflow);
    expect(roundTo(dtype, Number.NEGATIVE_INFINITY)).toBe(-overflow);
    expect(roundTo(dtype, Number.NaN)).toBeNaN();
  });

  it("keeps the sign of zero, of what underflows to it, and flushes no subnormal", () => {
    const { minSubnormal } = floatFormats[dtype];
    expect(roundTo(dtype, -0)).toBe(-0);
    expect(roundTo(dtype, -Number.MIN_VALUE)).toBe(-0);
    expect(roundTo(dtype, minSubnormal / 2)).toBe(0);
    expect(roundTo(dtype, neighbor(minSubnormal / 2, 1n))).toBe(minSubnormal);
    expect(roundTo(dtype, 1.5 * minSubnormal)).toBe(2 * minSubnormal);
    expect(roundArray(dtype, Float32Array.of(-1e-45))[0]).toBe(-0);
  });
});

describe("roundTo", () => {
  it("rounds once from f64, where a detour through f32 rounds twice", () => {
    const x = 1 + 2 ** -11 + 2 ** -40;
    expect(roundTo("f16", x)).toBe(1 + 2 ** -10);
    expect(roundTo("f16", Math.fround(x))).toBe(1);
    expect(roundTo("bf16", 1 + 2 ** -8 + 2 ** -40)).toBe(1 + 2 ** -7);
    expect(roundArray("f16", Float64Array.of(x), new Float32Array(1))[0]).toBe(1 + 2 ** -10);
  });

  it.each([
    ["f16", 65519, 65504],
    ["f16", 65520, Number.POSITIVE_INFINITY],
    ["f16", 2 ** -25, 0],
    ["f16", 1e-8, 0],
    ["f16", 2049, 2048],
    ["f16", 2051, 2052],
    ["bf16", 257, 256],
    ["bf16", 1 + 2 ** -8, 1],
    ["f8e4m3", 448, 448],
    ["f8e4m3", 449, 448],
    ["f8e4m3", 463.9, 448],
    ["f8e4m3", 464, 448],
    ["f8e4m3", 464.1, Number.NaN],
    ["f8e4m3", -465, Number.NaN],
    ["f8e4m3", 2 ** -10, 0],
    ["f8e4m3", 3 * 2 ** -10, 2 ** -8],
    ["f8e5m2", 61439, 57344],
    ["f8e5m2", 61440, Number.POSITIVE_INFINITY],
    ["f8e5m2", 2 ** -17, 0],
    ["f32", 1 + 2 ** -24, 1],
  ] as const)("%s of %d is %d", (dtype, x, want) => {
    expect(roundTo(dtype, x)).toBe(want);
  });

  it.each(FLOATS)("leaves rounded values of %s as they are", (dtype) => {
    for (const x of [Math.PI, -1e-5, 3e-8, 1e4, 0.1]) {
      const once = roundTo(dtype, x);
      expect(roundTo(dtype, once)).toBe(once);
    }
  });

  it("rounds f32 as Math.fround, in arrays too", () => {
    const source = Float64Array.of(0.1, 1e-46, -1e39, 16777217);
    const want = [Math.fround(0.1), 0, Number.NEGATIVE_INFINITY, 16777216];
    expect([...source].map((x) => roundTo("f32", x))).toEqual(want);
    expect([...roundArray("f32", source, new Float32Array(4))]).toEqual(want);
    expect([...roundArray("f32", source)]).toEqual(want);
    expect([...roundArray("f32", Float32Array.of(0.5), new Float64Array(1))]).toEqual([0.5]);
  });

  it("refuses an out of another length", () => {
    expect(() => roundArray("f16", new Float32Array(2), new Float32Array(3))).toThrow(MpError);
  });
});

describe("rounding by strict f32 arithmetic, for engines without a half type", () => {
  const f = Math.fround;
  const f16ByArithmetic = (x: number) => {
    if (Math.abs(x) < 2 ** -14) return f(f(x + 0.75) - 0.75);
    const c = f(x * 8193);
    const r = f(c - f(c - x));
    return Math.abs(r) > 65504 ? Math.sign(x) * Number.POSITIVE_INFINITY : r;
  };
  const bf16ByArithmetic = (x: number) => {
    const c = f(x * 65537);
    return f(c - f(c - x));
  };
  const eachTie = (dtype: "f16" | "bf16", below: number, visit: (x: number) => void) => {
    const bits = new Uint32Array(1);
    const value = new Float32Array(bits.buffer);
    const values = finiteValues(dtype);
    for (let i = 0; i + 1 < values.length && (values[i + 1] ?? 0) < below; i++) {
      value[0] = ((values[i] ?? 0) + (values[i + 1] ?? 0)) / 2;
      const tie = bits[0] ?? 0;
      for (let step = -2; step <= 2; step++) {
        bits[0] = Math.max(0, tie + step);
        visit(value[0] ?? 0);
        visit(-(value[0] ?? 0));
      }
    }
  };

  it("agrees for f16 at and around every tie, and to beyond the largest", () => {
    let seen = 0;
    eachTie("f16", Number.POSITIVE_INFINITY, (x) => {
      seen++;
      if (f16ByArithmetic(x) !== roundTo("f16", x)) expect.fail(`${x}`);
    });
    for (const x of [65504, 65519, f(65519.996), 65520, -65520, 1e10, 1e30]) {
      expect(f16ByArithmetic(x)).toBe(roundTo("f16", x));
    }
    expect(seen).toBeGreaterThan(300_000);
  });

  it("agrees for bf16 up to 1e30, where subnormals take the anchored form as in f16", () => {
    const smallByArithmetic = (x: number) => f(f(x + 1.5 * 2 ** -110) - 1.5 * 2 ** -110);
    let seen = 0;
    eachTie("bf16", 1e30, (x) => {
      seen++;
      const got = Math.abs(x) < 2 ** -126 ? smallByArithmetic(x) : bf16ByArithmetic(x);
      if (got !== roundTo("bf16", x)) expect.fail(`${x} gives ${got}`);
    });
    expect(seen).toBeGreaterThan(280_000);
    expect(bf16ByArithmetic(2 ** -149)).toBe(2 ** -149);
    expect(roundTo("bf16", 2 ** -149)).toBe(0);
  });
});
