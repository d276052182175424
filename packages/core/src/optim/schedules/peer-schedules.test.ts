import { describe, expect, it } from "vitest";
import { scheduleFixture, schedules } from "../../../test/peer-schedules.js";
import { ratesAt } from "../../../test/rates-at.js";

describe("schedules have the rates of PyTorch, Keras and optax at each step", () => {
  it("in every case of the fixture", () => {
    expect(Object.keys(schedules)).toEqual(Object.keys(scheduleFixture.cases));
  });

  it.each(Object.entries(schedules))("%s", (name, schedule) => {
    const { steps = [], rates = [] } = scheduleFixture.cases[name] ?? {};
    expect(rates.length).toBeGreaterThanOrEqual(7);
    const got = ratesAt(schedule, steps);
    const highest = Math.max(...rates);
    for (const [index, want] of rates.entries()) {
      const distance = Math.abs((got[index] ?? Number.NaN) - want);
      expect(distance, `step ${steps[index]}: ${got[index]} for ${want}`).toBeLessThanOrEqual(
        1e-6 * want + 1e-7 * highest,
      );
    }
  });
});
