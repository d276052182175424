import { describe, expect, it } from "vitest";
import { type AllReduce, halving, ring, tree, type Wire } from "./all-reduce.js";
import { stepTime } from "./step-time.js";

const wire: Wire = { latencySeconds: 1e-5, bytesPerSecond: 1e9 };
const zeros = (ranks: number): number[] => new Array<number>(ranks).fill(0);
const last = (times: readonly number[]): number => times.reduce((most, time) => Math.max(most, time), 0);

describe("an all-reduce of ranks that start together takes what its formula says", () => {
  const [n, a, b] = [1e8, wire.latencySeconds, 1 / wire.bytesPerSecond];
  it.each([2, 8, 64])("%i ranks", (p) => {
    const part = (p - 1) / p;
    expect(last(ring(zeros(p), n, wire))).toBeCloseTo(2 * (p - 1) * a + 2 * part * n * b, 9);
    expect(last(halving(zeros(p), n, wire))).toBeCloseTo(2 * Math.log2(p) * a + 2 * part * n * b, 9);
    expect(last(tree(zeros(p), n, wire))).toBeCloseTo(Math.log2(p) * 2 * (a + n * b), 9);
  });
});

it.each([
  ["ring", ring],
  ["tree", tree],
  ["halving", halving],
] satisfies [string, AllReduce][])(
  "%s: nobody has the sums before the slowest rank was ready",
  (_, reduce) => {
    const ready = zeros(16);
    ready[11] = 5;
    const times = reduce(ready, 1000, wire);
    for (const time of times) expect(time).toBeGreaterThan(5);
    expect(last(times)).toBeLessThan(5 + last(reduce(zeros(16), 1000, wire)) + 1e-9);
  },
);

it("refuses halving for a number of ranks that is no power of two", () => {
  expect(() => halving(zeros(6), 10, wire)).toThrow("6 is not a power of two");
});

describe("a step", () => {
  const work = { gradientBytes: 1e8, seconds: 1, deviation: 0.02 };

  it("of one rank has no exchange", () => {
    expect(stepTime(1, work, ring, wire)).toEqual({ seconds: 1, efficiency: 1, waitingSeconds: 0 });
  });

  it("waits longer for the slowest of more ranks, as the largest of normal numbers does", () => {
    const [few, many] = [2, 1024].map((ranks) => stepTime(ranks, work, halving, wire).waitingSeconds);
    // Expected maxima: 0.564 of two, 3.25 of 1024 standard deviations.
    expect((few ?? 0) / 0.02).toBeCloseTo(0.564, 0);
    expect((many ?? 0) / 0.02).toBeGreaterThan(2.9);
    expect((many ?? 0) / 0.02).toBeLessThan(3.6);
  });

  it("is the same in every call", () => {
    expect(stepTime(64, work, tree, wire)).toEqual(stepTime(64, work, tree, wire));
  });
});
