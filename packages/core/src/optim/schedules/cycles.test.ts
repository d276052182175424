/** Checks cycles at and around every restart against a count in doubles. */
import { describe, expect, it } from "vitest";
import { ratesAt } from "../../../test/rates-at.js";
import { cyclic } from "./cyclic.js";
import { oneCycle } from "./one-cycle.js";
import { polynomialDecay } from "./polynomial-decay.js";
import { warmRestarts } from "./warm-restarts.js";

/** f32 holds every step number up to here. */
const EXACT = 2 ** 24;
const STEPS = 2 ** 31 - 1;

/** The steps at which cycles begin, up to a limit. */
function startsBefore(limit: number, first: number, factor: number): number[] {
  const starts = [0];
  for (let length = first; (starts.at(-1) ?? 0) + length < limit && starts.length < 2000; length *= factor) {
    starts.push((starts.at(-1) ?? 0) + length);
  }
  return starts;
}

const far = (start: number): boolean => Math.abs(start - Math.round(start)) > 1e-9 * start;

const around = (step: number): number[] =>
  [Math.ceil(step) - 1, Math.ceil(step), Math.ceil(step) + 1].filter((near) => near >= 0);

describe("warm restarts", () => {
  const factors = [1, 1.01, 1.3, 1.5, 2, 3, 10];
  it.each(factors.flatMap((factor) => [1, 2, 7, 10, 999].map((steps) => ({ steps, factor }))))(
    "of $steps steps, times $factor, are where a count in doubles has them",
    ({ steps, factor }) => {
      const starts = startsBefore(EXACT, steps, factor);
      // If a restart is this close to a step, f64 rounding hides which of them comes first.
      const clear = starts.filter((start) => Number.isInteger(start) || far(start));
      const some = clear.filter((_start, index) => index % Math.ceil(clear.length / 100) === 0);
      const asked = [...new Set(some.flatMap(around))];
      const got = ratesAt(warmRestarts(1, { steps, factor, peakFactor: 0.99, final: 0.25 }), asked);
      for (const [index, step] of asked.entries()) {
        const cycle = starts.findLastIndex((start) => start <= step);
        const share = (step - (starts[cycle] ?? 0)) / (steps * factor ** cycle);
        const want = 0.25 + (0.75 * 0.99 ** cycle * (1 + Math.cos(Math.PI * share))) / 2;
        expect(Math.abs((got[index] ?? Number.NaN) - want), `step ${step}, cycle ${cycle}`).toBeLessThan(
          2e-5,
        );
      }
    },
  );

  it("of equal length are exact at the last steps that are counted", () => {
    for (const steps of [3, 10, 999, 12_345]) {
      const last = Math.floor(STEPS / steps) * steps;
      const [restart = 0, before = 0] = ratesAt(warmRestarts(1, { steps, final: 0.25 }), [last, last - 1]);
      expect(restart).toBe(1);
      expect(before).toBeCloseTo(0.25 + (0.75 * (1 - Math.cos(Math.PI / steps))) / 2, 6);
    }
  });
});

it("a cycle that does not decay is back at each corner, up to the last steps that are counted", () => {
  for (const [up, down] of [
    [1, 1],
    [3, 8],
    [2000, 2000],
    [12_345, 6],
  ] as const) {
    const cycles = [0, 1, 2, 1000, Math.floor((STEPS - up) / (up + down))];
    const starts = cycles.map((cycle) => cycle * (up + down)).filter((start) => start + up < STEPS);
    const schedule = cyclic(0.25, 1, { up, down });
    expect(ratesAt(schedule, starts)).toEqual(starts.map(() => 0.25));
    expect(
      ratesAt(
        schedule,
        starts.map((start) => start + up),
      ),
    ).toEqual(starts.map(() => 1));
  }
});

it("a polynomial that is stretched is at its end at each multiple of the steps, and above it one step later", () => {
  for (const steps of [1, 3, 7, 10, 999]) {
    const multiples = [1, 2, 3, 10, 1000].map((times) => times * steps);
    const schedule = polynomialDecay(1, { steps, final: 0.25, cycle: true });
    expect(ratesAt(schedule, [0, ...multiples])).toEqual([1, ...multiples.map(() => 0.25)]);
    for (const [index, rate] of ratesAt(
      schedule,
      multiples.map((step) => step + 1),
    ).entries()) {
      const step = (multiples[index] ?? 0) + 1;
      const stretched = Math.ceil(step / steps) * steps;
      expect(rate).toBeCloseTo(0.25 + 0.75 * (1 - step / stretched), 6);
    }
  }
});

it("one cycle stays at its final rate, within its bounds and without a jump before", () => {
  for (const shape of ["cosine", "linear"] as const) {
    for (const backAt of [undefined, 70]) {
      const schedule = oneCycle(1, { steps: 100, shape, ...(backAt === undefined ? {} : { backAt }) });
      const rates = ratesAt(
        schedule,
        Array.from({ length: 103 }, (_, step) => step),
      );
      const [first, final] = [rates[0] ?? 0, rates[99] ?? 0];
      expect(first).toBeCloseTo(1 / 25, 6);
      expect(final * 25 * 1e4).toBeCloseTo(1, 5);
      expect(rates.slice(100)).toEqual([final, final, final]);
      expect(rates.indexOf(Math.max(...rates))).toBe(29);
      for (const [step, rate] of rates.entries()) {
        expect(rate).toBeGreaterThanOrEqual(final);
        expect(rate).toBeLessThanOrEqual(1);
        if (step > 0) expect(Math.abs(rate - (rates[step - 1] ?? 0))).toBeLessThan(0.06);
      }
    }
  }
});
