import { floatFormats, type HostTensor, key, roundTo, tensor } from "@mp/graph";
import { cast } from "@mp/graph/ops";
import { describe, expect, it } from "vitest";
import { numbersOf } from "../../../graph/test/evaluate-op.js";
import { runTraced } from "../../../graph/test/run-traced.js";
import { ceilPowerOfTwo, floorPowerOfTwo } from "./power-of-two.js";
import { quantize } from "./quantize.js";
import { type Granularity, granularities, type QuantizationRule, type ScaleRule } from "./rule.js";

const f = Math.fround;
const E2M1 = [0, 0.5, 1, 1.5, 2, 3, 4, 6];
const MAX = { f8e4m3: 448, f8e5m2: 57344, e2m1: 6 } as const;
const EXPONENT = { f8e4m3: 8, f8e5m2: 15, e2m1: 2 } as const;
const FRACTION = { f8e4m3: 3, f8e5m2: 2, e2m1: 1 } as const;

/** The nearest number of a format, ties to the even code, found by search in e2m1. */
function nearest(format: QuantizationRule["format"], x: number): number {
  if (format !== "e2m1") return roundTo(format, x);
  const size = Math.abs(x);
  const best = E2M1.map((number, code) => [Math.abs(number - size), code % 2, number] as const).sort(
    (a, b) => a[0] - b[0] || a[1] - b[1],
  )[0];
  return Number.isNaN(x) ? x : Math.sign(x) * (best?.[2] ?? 0);
}

const bits = new DataView(new ArrayBuffer(4));
/** ⌊log2 x⌋ of a normal number. */
function exponentOf(x: number): number {
  bits.setFloat32(0, x);
  return (bits.getUint32(0) >>> 23) - 127;
}

/** Encoding and decoding factors of a block, as the papers and libraries define them, in f32 steps. */
function factorsOf(
  amax: number,
  whole: number,
  rule: Required<QuantizationRule>,
): [encode: number, decode: number] {
  const { format } = rule;
  const scale: ScaleRule = rule.scale;
  const [max, top] = [MAX[format], EXPONENT[format]];
  if (scale.format === "f8e4m3") {
    const tensorEncode = whole === 0 ? 1 : f((448 * max) / whole);
    const block = roundTo("f8e4m3", Math.min(448, f(amax * f(tensorEncode * f(1 / max)))));
    const decode = f(block * f(1 / tensorEncode));
    return [Math.min(f(1 / decode), floatFormats.f32.maxFinite), decode];
  }
  if (amax === 0) return [1, 1];
  if (scale.format === "e8m0") {
    const exponents = {
      floor: exponentOf(amax) - top,
      even: exponentOf(amax + 2 ** (exponentOf(amax) - FRACTION[format] - 1)) - top,
      ceil: exponentOf(amax) + (amax === 2 ** exponentOf(amax) ? 0 : 1) - top,
      rceil: Math.ceil(Math.log2(amax / max)),
    };
    const exponent = Math.max(-127, exponents[scale.rounding ?? "floor"]);
    return [2 ** -exponent, 2 ** exponent];
  }
  const encode = Math.min(f(max / amax), floatFormats.f32.maxFinite);
  const rounded = scale.powerOfTwo === true ? 2 ** exponentOf(encode) : encode;
  return [rounded, f(1 / rounded)];
}

/** Quantizes a matrix block by block, with loops. */
function byHand(
  x: readonly number[],
  [rows, columns]: readonly [number, number],
  rule: Required<QuantizationRule>,
) {
  const [down, across] = granularities[rule.granularity];
  const block = (index: number, size: number): number => Math.floor(index / size) || 0;
  const places = x.map(
    (_, at) => columns * block(Math.floor(at / columns), down) + block(at % columns, across),
  );
  const amax = new Map<number, number>();
  for (const [at, place] of places.entries())
    amax.set(place, Math.max(amax.get(place) ?? 0, Math.abs(x[at] as number)));
  const whole = Math.max(...amax.values());
  const codes: number[] = [];
  const values: number[] = [];
  for (const [at, value] of x.entries()) {
    const [encode, decode] = factorsOf(amax.get(places[at] as number) ?? 0, whole, rule);
    const scaled = f(value * encode);
    const max = MAX[rule.format];
    const code = nearest(rule.format, Math.min(max, Math.max(-max, scaled)));
    codes.push(code);
    values.push(f(code * decode));
  }
  expect(rows * columns).toBe(x.length);
  return { codes, values };
}

/** Numbers of many magnitudes from a linear congruential generator, with zeros, ties and powers of two among them. */
function numbers(count: number, seed: number): number[] {
  let state = seed;
  return Array.from({ length: count }, (_, at) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const unit = state / 2 ** 31 - 1;
    if (at % 11 === 0) return 0;
    return f(at % 7 === 0 ? Math.sign(unit) * 2 ** Math.round(unit * 20) : unit * 2 ** ((state >>> 5) % 24));
  });
}

const SCALES: readonly ScaleRule[] = [
  { format: "f32" },
  { format: "f32", powerOfTwo: true },
  ...(["floor", "even", "ceil", "rceil"] as const).map((rounding) => ({ format: "e8m0" as const, rounding })),
  { format: "f8e4m3" },
];

const run = (
  x: readonly number[],
  shape: readonly number[],
  rule: QuantizationRule,
  axis = shape.length - 1,
) =>
  runTraced({ x: tensor(Float32Array.from(x), shape) }, (given) => ({
    ...quantize(given.x, rule, axis, key(7)),
  })) as Readonly<Record<"codes" | "scale" | "values", HostTensor>>;

const numbersIn = (made: HostTensor): number[] => [...numbersOf(made)];

describe.each(["f8e4m3", "f8e5m2", "e2m1"] as const)("codes of %s", (format) => {
  it.each(Object.keys(granularities) as Granularity[])(
    "and their values are those of the formula: %s",
    (granularity) => {
      for (const scale of SCALES) {
        const rule = {
          format,
          granularity,
          scale,
          saturate: true,
          rounding: "nearest",
          margin: 0,
          epsilon: 0,
        } as const;
        // Neither axis is a multiple of a block.
        const x = numbers(19 * 150, 5);
        const want = byHand(x, [19, 150], rule);
        const got = run(x, [19, 150], rule);
        const text = JSON.stringify(rule);
        // -0 and 0 are equal codes of one value.
        expect(
          numbersIn(got.codes).map((each) => each + 0),
          text,
        ).toEqual(want.codes.map((each) => each + 0));
        expect(
          numbersIn(got.values).map((each) => each + 0),
          text,
        ).toEqual(want.values.map((each) => each + 0));
      }
    },
  );

  it("along another axis are those of the transposed tensor", () => {
    const rule: QuantizationRule = { format, granularity: "1x32", scale: { format: "e8m0" } };
    const x = numbers(50 * 6, 3);
    const turned = Array.from({ length: 300 }, (_, at) => x[(at % 50) * 6 + Math.floor(at / 50)] as number);
    const columns = numbersIn(run(x, [50, 6], rule, 0).values);
    const rows = numbersIn(run(turned, [6, 50], rule, 1).values);
    expect(columns).toEqual(Array.from({ length: 300 }, (_, at) => rows[(at % 6) * 50 + Math.floor(at / 6)]));
  });

  it("of stochastic rounding are neighbors whose mean is the number", () => {
    const rule: QuantizationRule = { format, rounding: "stochastic" };
    // The largest number has scale 1.
    for (const value of [0.3, 1.1, 1.75, 2.2, 4.9, 5.99]) {
      const x = Array.from({ length: 20_000 }, (_, at) => (at === 0 ? MAX[format] : value));
      const drawn = numbersIn(run(x, [x.length], rule).codes).slice(1);
      const [low, high] = [Math.min(...drawn), Math.max(...drawn)];
      expect(new Set(drawn).size).toBeLessThanOrEqual(2);
      expect(nearest(format, low)).toBe(low);
      const mean = drawn.reduce((sum, each) => sum + each, 0) / drawn.length;
      expect(Math.abs(mean - value)).toBeLessThan(4 * (high - low) * Math.sqrt(0.25 / drawn.length) + 1e-6);
    }
  });

  it("of a block with a number that is not finite are NaN, and of zeros 0", () => {
    for (const scale of SCALES) {
      for (const bad of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
        const { values } = run([1, bad, 0, 2], [4], { format, scale });
        expect(numbersIn(values)[1], `${JSON.stringify(scale)} ${bad}`).toBeNaN();
      }
      for (const epsilon of [0, 1e-12]) {
        const zeros = run([0, 0, 0, 5], [2, 2], { format, scale, granularity: "row", epsilon });
        expect([numbersIn(zeros.values).slice(0, 3), numbersIn(zeros.codes).slice(0, 3)]).toEqual([
          [0, 0, 0],
          [0, 0, 0],
        ]);
        // A block of zeros beside others has the scale 0 in NVFP4.
        if (scale.format !== "f8e4m3") expect(numbersIn(zeros.scale)[0]).toBeGreaterThan(0);
      }
    }
  });
});

it("a power of two below or above a number is exact, of every exponent and next to every power", () => {
  const x = [0];
  for (let exponent = -149; exponent <= 127; exponent++) {
    const power = 2 ** exponent;
    const step = Math.max(2 ** -149, power * 2 ** -23);
    x.push(power, power + step, 1.5 * power, 2 * power - step);
  }
  // Fractions of all 23 bits, the largest and those with few bits among them.
  for (let at = 0; at < 2 ** 14; at++)
    x.push(1 + at * 2 ** -14, 2 - at * 2 ** -23, 4 / 3 + (at - 2 ** 13) * 2 ** -23);
  const finite = x.map(f).filter(Number.isFinite);
  const data = { x: tensor(Float32Array.from(finite), [finite.length]) };
  const made = runTraced(data, (given) => ({
    below: floorPowerOfTwo(given.x),
    above: ceilPowerOfTwo(given.x),
  }));
  const below = finite.map((each) => (each === 0 ? 0 : 2 ** Math.floor(Math.log2(each) + 1e-9)));
  const exact = below.map((power, at) => (power > (finite[at] as number) ? power / 2 : power));
  expect(numbersIn(made.below)).toEqual(exact);
  expect(numbersIn(made.above)).toEqual(
    exact.map((power, at) => f(power === finite[at] ? power : 2 * power)),
  );
});

it.each<[QuantizationRule, string]>([
  [{ format: "f8" } as never, "format must be"],
  [{ format: "e2m1", saturate: false }, "saturate must be true"],
  [{ format: "f8e4m3", scale: { rounding: "ceil" } }, "scale.rounding is for e8m0"],
  [{ format: "f8e4m3", scale: { format: "e8m0", powerOfTwo: true } }, "scale.powerOfTwo is for f32"],
  [{ format: "f8e4m3", granularity: "2x2" } as never, "granularity must be"],
  [{ format: "f8e4m3", margin: 0.5 }, "margin must be"],
])("refuses %j", (rule, message) => {
  expect(() => run([1], [1], rule)).toThrow(message);
});

describe("an axis", () => {
  const rule: QuantizationRule = { format: "f8e4m3", granularity: "row" };
  it("counts from the end if it is negative", () => {
    const x = [1, 2, 3, 4, 5, 6];
    for (const axis of [0, 1]) expect(run(x, [2, 3], rule, axis - 2)).toEqual(run(x, [2, 3], rule, axis));
    expect(numbersIn(run([3], [], rule, -1).codes)).toEqual([448]);
  });

  it.each([2, -3, 0.5, Number.NaN])("that the tensor lacks is refused: %d", (axis) => {
    expect(() => run([1, 2], [1, 2], rule, axis)).toThrow(
      `quantize: axis must be an integer from -2 to 1, got ${axis}`,
    );
  });
});

it.each(["i32", "bf16"] as const)("refuses a tensor of %s, with what to do", (dtype) => {
  const x = tensor(Float32Array.of(1, 2), [2]);
  expect(() =>
    runTraced({ x }, (given) => ({ y: quantize(cast(given.x, dtype), { format: "f8e4m3" }, 0).values })),
  ).toThrow(`quantize: x is ${dtype}, takes f32; cast it first`);
});
