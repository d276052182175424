import { float32 } from "@mp/core";
import { ALONE, type Scenario } from "./scenario.js";
import { tinyModel } from "./tiny-model.js";

const MEGABYTE = 2 ** 20;
const STEPS = 100_000;
/** Steps after which compilers, caches and arenas have settled. */
const SETTLED = 5000;
const EVERY = 500;

/** Whether memory grows with steps. */
export const soak: Scenario = {
  title: "100 000 steps of a tiny model",
  parts: [ALONE],
  rounds: 1,
  run: async ({ backend, quick }) => {
    const scale = quick ? 0.01 : 1;
    const training = await tinyModel().train(backend, float32());
    const startedAt = performance.now();
    let settled = 0;
    let most = 0;
    let last = 0;
    for (let step = 1; step <= STEPS * scale; step++) {
      await training.step();
      if (step % (EVERY * scale) !== 0 || step < SETTLED * scale) continue;
      last = process.memoryUsage.rss() / MEGABYTE;
      if (step === SETTLED * scale) settled = last;
      most = Math.max(most, last);
    }
    const microseconds = ((performance.now() - startedAt) / (STEPS * scale)) * 1000;
    await training.dispose();
    return { figures: { settled, most, last, growth: most / settled, microseconds } };
  },
  report: (measured) => [
    { name: "resident after 5 000 steps", value: measured(ALONE, "settled"), unit: "MB" },
    { name: "most after that", value: measured(ALONE, "most"), unit: "MB" },
    { name: "after 100 000 steps", value: measured(ALONE, "last"), unit: "MB" },
    { name: "most, of that after 5 000", value: measured(ALONE, "growth"), unit: "times", bar: 1.05 },
    { name: "a step on average", value: measured(ALONE, "microseconds"), unit: "µs" },
  ],
};
