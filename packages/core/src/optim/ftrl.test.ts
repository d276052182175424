import type { HostTensor } from "@mp/graph";
import { expect, it } from "vitest";
import { batch, smallRun } from "../../test/small-run.js";
import { numbers, updatesOf, vector } from "../../test/updates-of.js";
import { ftrl } from "./ftrl.js";
import { linearSchedule } from "./schedules/linear-schedule.js";
import { settable } from "./settable.js";

it("ftrl makes weights exactly 0 whose gradients are within l1", () => {
  const weights = vector([0.1, -0.3, 1 / 3, 7]);
  const gradients = vector([0.5, -0.99, 1, 30]);
  const [update] = updatesOf(
    ftrl({ learningRate: 0.3, initialAccumulator: 2 ** -100, l1: 1e18 }),
    [gradients],
    [weights],
  );
  const sums = numbers(update as HostTensor).map((step, index) =>
    Math.fround(step + (numbers(weights)[index] ?? 0)),
  );
  expect(sums.map(Math.abs)).toEqual([0, 0, 0, 0]);
});

it.each([true, false])(
  "a step at a rate of 0 is skipped, new parameters checked: %s",
  async (checkNewParameters) => {
    const rates = [ftrl({ learningRate: linearSchedule(0, 1, 5) }), ftrl({ learningRate: settable(0) })];
    for (const optimizer of rates) {
      const training = await smallRun({ optimizer, checkNewParameters });
      const before = await training.parameters();
      expect(await training.step(batch(0))).toMatchObject({ applied: false });
      expect(await training.parameters()).toEqual(before);
      await training.dispose();
    }
  },
);

it("a rate that the host raises from 0 makes the step of a constant one", async () => {
  const weightsAfter = async (learningRate: number | ReturnType<typeof settable>) => {
    const training = await smallRun({ optimizer: ftrl({ learningRate }) });
    if (typeof learningRate !== "number") await training.setRates({ default: 0.5 });
    expect(await training.step(batch(0))).toMatchObject({ applied: true });
    const weights = await training.parameters();
    await training.dispose();
    return weights;
  };
  expect(await weightsAfter(settable(0))).toEqual(await weightsAfter(0.5));
});
