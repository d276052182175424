import { tensor, traceInto } from "@mp/graph";
import { evaluate } from "@mp/graph/reference";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { addHistograms, buildHistogram, countExponents, type ExponentHistogram } from "./exponent-counts.js";

/** Counts values by the graph, on the reference backend. */
function counted(values: Float32Array): ExponentHistogram {
  const type = { dtype: "f32", shape: [values.length] } as const;
  const { graph } = traceInto([{ name: "x", role: "batch", type }], ([x]) => ({
    ...countExponents(x as never),
  }));
  const { row, largest } = evaluate(graph, { x: tensor(values) });
  return buildHistogram([row?.data as Float32Array], [Number(largest?.data[0])]);
}

const bits = new DataView(new ArrayBuffer(4));
/** Reads the exponent from the float's own bits; everything below 2^-126 counts as 2^-127. */
function exponentOf(value: number): number {
  bits.setFloat32(0, value);
  return ((bits.getUint32(0) >>> 23) & 255) - 127;
}

const at = ({ first, counts }: ExponentHistogram, exponent: number): number => counts[exponent - first] ?? 0;
const total = ({ counts, zeros, infinities, nans }: ExponentHistogram): number =>
  counts.reduce((sum, count) => sum + count, zeros + infinities + nans);

describe("counting by exponent", () => {
  it("puts powers of two and their neighbors on the right side, over all of f32", () => {
    for (let exponent = -126; exponent <= 127; exponent++) {
      const power = 2 ** exponent;
      const below = power - 2 ** Math.max(exponent - 24, -149);
      const found = counted(Float32Array.of(power, -power, power * (1 + 2 ** -23), below));
      expect([exponent, at(found, exponent), at(found, exponent - 1)]).toEqual([exponent, 3, 1]);
    }
  });

  it("keeps zeros, infinities and NaN apart", () => {
    const values = [0, -0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN, 2 ** -140, 3, -5];
    expect(counted(Float32Array.from(values))).toEqual({
      first: -127,
      counts: [1, ...new Array<number>(127).fill(0), 1, 1],
      zeros: 2,
      infinities: 2,
      nans: 1,
      largest: 5,
    });
    expect(counted(Float32Array.of(0))).toEqual({
      first: 0,
      counts: [],
      zeros: 1,
      infinities: 0,
      nans: 0,
      largest: 0,
    });
  });

  it("agrees with the bits of any floats", () => {
    fc.assert(
      fc.property(fc.float32Array({ minLength: 1, maxLength: 40 }), (values) => {
        const found = counted(values);
        expect(total(found)).toBe(values.length);
        const ordinary = [...values].filter((value) => Number.isFinite(value) && value !== 0);
        for (const value of ordinary) {
          const exponent = exponentOf(value);
          expect(at(found, exponent)).toBe(ordinary.filter((other) => exponentOf(other) === exponent).length);
        }
        expect(found.largest).toBe(Math.max(0, ...ordinary.map(Math.abs)));
      }),
    );
  });
});

describe("histograms of several tensors", () => {
  it("add up where they overlap and where they do not", () => {
    const [low, high] = [counted(Float32Array.of(1, 2, 0)), counted(Float32Array.of(2, 64, Number.NaN))];
    expect(addHistograms([low, high])).toEqual({
      first: 0,
      counts: [1, 2, 0, 0, 0, 0, 1],
      zeros: 1,
      infinities: 0,
      nans: 1,
      largest: 64,
    });
    expect(addHistograms([])).toMatchObject({ first: 0, counts: [], largest: 0 });
    expect(addHistograms([counted(Float32Array.of(0)), low])).toMatchObject({
      first: 0,
      counts: [1, 1],
      zeros: 2,
    });
  });
});
