import { float32 } from "@mp/core";
import { hollowBackend, timeBackend } from "../backend-wrappers.js";
import { median } from "../statistics.js";
import { medianTime } from "../timing.js";
import { ALONE, type Scenario } from "./scenario.js";
import { tinyModel } from "./tiny-model.js";

const MICROSECONDS = 1000;

/**
 * Measures the cost of a step besides the engine's own work. `hollow` is the same step with a graph that only passes
 * state on, so it measures the host plus the engine's fixed cost of a call, not the host alone.
 */
export const hostOverhead: Scenario = {
  title: "host overhead of a step of a tiny model",
  parts: [ALONE],
  run: async ({ backend, quick }) => {
    const counts = quick ? { warmup: 20, steps: 20 } : { warmup: 2000, steps: 10_000 };
    const workload = tinyModel();
    const timed = timeBackend(backend);
    const real = await workload.train(timed.backend, float32());
    const hollow = await workload.train(hollowBackend(backend), float32());
    const step = MICROSECONDS * (await medianTime(() => real.step(), counts));
    const run = median(timed.timings.runMilliseconds.slice(-counts.steps)) * MICROSECONDS;
    const around = MICROSECONDS * (await medianTime(() => hollow.step(), counts));
    const nodes = real.graph().nodes.length;
    await Promise.all([real.dispose(), hollow.dispose()]);
    return { step, run, around, nodes };
  },
  report: (measured) => {
    const step = measured(ALONE, "step");
    const around = measured(ALONE, "around");
    return [
      { name: "whole step", value: step, unit: "µs" },
      { name: "in it, the executable's run", value: measured(ALONE, "run"), unit: "µs" },
      { name: "engine: whole step less the hollow one", value: step - around, unit: "µs" },
      { name: "host: a step whose graph is hollow", value: around, unit: "µs", bar: 150 },
      { name: "nodes of the graph", value: measured(ALONE, "nodes"), unit: "" },
    ];
  },
};
