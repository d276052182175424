import { describe, expect, it } from "vitest";
import { ratesAt } from "../../../test/rates-at.js";
import type { Schedule } from "../optimizer.js";
import { cosineDecay } from "./cosine-decay.js";
import { exponentialDecay } from "./exponential-decay.js";
import { linearSchedule } from "./linear-schedule.js";
import { piecewiseConstant } from "./piecewise-constant.js";
import { warmup } from "./warmup.js";

const at = (schedule: Schedule, ...steps: number[]): readonly number[] => ratesAt(schedule, steps);

const close = (got: readonly number[], want: readonly number[]): void => {
  expect(got.length).toBe(want.length);
  for (const [index, value] of want.entries()) expect(got[index], `value ${index}`).toBeCloseTo(value, 6);
};

describe("schedules", () => {
  it("decay exponentially, smoothly or in stairs", () => {
    const options = { decay: 0.25, every: 10 };
    close(at(exponentialDecay(8, options), 0, 5, 10, 20), [8, 4, 2, 0.5]);
    close(at(exponentialDecay(8, { ...options, staircase: true }), 0, 9, 10, 19, 20), [8, 8, 2, 2, 0.5]);
  });

  it("step down at exact multiples, whatever f32 makes of the division", () => {
    for (const every of [3, 7, 10, 999, 12_345]) {
      const schedule = exponentialDecay(1, { decay: 0.5, every, staircase: true });
      for (const turn of [1, 3, 5]) {
        close(at(schedule, turn * every - 1, turn * every), [0.5 ** (turn - 1), 0.5 ** turn]);
      }
    }
  });

  it("follow half a cosine, then stay", () => {
    close(at(cosineDecay(1, { steps: 100 }), 0, 25, 50, 100, 1000), [1, 0.5 + Math.SQRT1_2 / 2, 0.5, 0, 0]);
    close(at(cosineDecay(1, { steps: 100, final: 0.2 }), 0, 50, 100, 101), [1, 0.6, 0.2, 0.2]);
  });

  it("go straight, then stay", () => {
    close(at(linearSchedule(0, 2, 4), 0, 1, 4, 5), [0, 0.5, 2, 2]);
    close(at(linearSchedule(2, 0, 4), 0, 1, 4, 400), [2, 1.5, 0, 0]);
  });

  it("warm up to the peak of the one that follows, which starts counting there", () => {
    const schedule = warmup(4, linearSchedule(1, 0, 10));
    close(at(schedule, 0, 1, 3, 4, 5, 9), [0.25, 0.5, 1, 1, 0.9, 0.5]);
  });

  it("are constant in pieces, a boundary belonging to the later one", () => {
    close(at(piecewiseConstant([10, 20], [1, 0.5, 0.1]), 0, 9, 10, 19, 20, 99), [1, 1, 0.5, 0.5, 0.1, 0.1]);
    close(at(piecewiseConstant([], [3]), 0, 7), [3, 3]);
  });

  it("refuse what could not be meant", () => {
    const refused = [
      () => exponentialDecay(1, { decay: 0, every: 1 }),
      () => exponentialDecay(1, { decay: 0.5, every: Number.NaN }),
      () => cosineDecay(1, { steps: 0 }),
      () => linearSchedule(0, 1, Number.POSITIVE_INFINITY),
      () => warmup(-1, () => expect.fail("not asked")),
      () => exponentialDecay(Number.NaN, { decay: 0.5, every: 1 }),
      () => exponentialDecay(1, { decay: 0.5, every: 1e-50 }),
      () => cosineDecay(1e39, { steps: 1 }),
      () => linearSchedule(0, Number.NaN, 1),
      () => piecewiseConstant([10], [1, Number.POSITIVE_INFINITY]),
      () => piecewiseConstant([10], [1]),
      () => piecewiseConstant([20, 10], [1, 2, 3]),
      () => piecewiseConstant([10, 10], [1, 2, 3]),
      () => piecewiseConstant([0.5], [1, 2]),
      () => exponentialDecay(-1, { decay: 0.5, every: 1 }),
      () => cosineDecay(-1, { steps: 1 }),
      () => cosineDecay(1, { steps: 1, final: -1 }),
      () => linearSchedule(-1, 0, 5),
      () => linearSchedule(-3e38, 3e38, 10),
      () => piecewiseConstant([2], [-1, 1]),
      () => piecewiseConstant([2 ** 40], [1, 2]),
      () => exponentialDecay(1, undefined as never),
      () => cosineDecay(1, undefined as never),
      () => warmup(10, 0.1 as never),
    ];
    for (const make of refused) {
      expect(make).toThrow(expect.objectContaining({ code: "MP_INVALID_ARGUMENT" }));
    }
  });
});
