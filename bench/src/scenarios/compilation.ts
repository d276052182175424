import { float32 } from "@mp/core";
import { timedBackend } from "../backend-wrappers.js";
import { median } from "../statistics.js";
import { wordModel } from "../workloads/word-model.js";
import { ALONE, type Scenario } from "./scenario.js";

const SECONDS = 1 / 1000;

/** Time from the first call of `step` to the engine's first run, on W2. */
export const compilation: Scenario = {
  title: "tracing and compiling W2",
  parts: [ALONE],
  run: async ({ backend }) => {
    const workload = wordModel();
    const { backend: timed, timings } = timedBackend(backend);
    const startedAt = performance.now();
    const training = await workload.train(timed, float32());
    const begun = performance.now();
    await training.step();
    const first = performance.now() - begun;
    const compile = timings.compileMilliseconds.at(-1) ?? Number.NaN;
    const steps: number[] = [];
    for (let step = 0; step < 3; step++) {
      const before = performance.now();
      await training.step();
      steps.push(performance.now() - before);
    }
    const nodes = training.graph().nodes.length;
    await training.dispose();
    const both = first - median(steps);
    return {
      figures: {
        start: (begun - startedAt) * SECONDS,
        trace: (both - compile) * SECONDS,
        compile: compile * SECONDS,
        both: both * SECONDS,
        nodes,
      },
    };
  },
  report: (measured) => [
    { name: "parameters to the engine", value: measured(ALONE, "start"), unit: "s" },
    { name: "trace, gradient, clean-ups, schedule", value: measured(ALONE, "trace"), unit: "s" },
    { name: "lowering and session", value: measured(ALONE, "compile"), unit: "s" },
    { name: "both", value: measured(ALONE, "both"), unit: "s", bar: 5 },
    { name: "nodes of the graph", value: measured(ALONE, "nodes"), unit: "" },
  ],
};
