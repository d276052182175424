import { float32 } from "@mp/core";
import { timeBackend } from "../backend-wrappers.js";
import { medianTime, time } from "../timing.js";
import { wordModel } from "../workloads/word-model.js";
import { ALONE, type Scenario } from "./scenario.js";

const SECONDS = 1 / 1000;

/** Time from the first call of `step` to the engine's first run, on the LSTM workload W2. */
export const compilation: Scenario = {
  title: "tracing and compiling W2",
  parts: [ALONE],
  run: async ({ backend }) => {
    const workload = wordModel();
    const { backend: timed, timings } = timeBackend(backend);
    const spent: number[] = [];
    const training = await time(spent, () => workload.train(timed, float32()));
    await time(spent, () => training.step());
    const compile = timings.compileMilliseconds.at(-1) ?? Number.NaN;
    const later = await medianTime(() => training.step(), { warmup: 0, steps: 3 });
    const nodes = training.graph().nodes.length;
    await training.dispose();
    const [start = Number.NaN, first = Number.NaN] = spent;
    const both = first - later;
    return {
      start: start * SECONDS,
      trace: (both - compile) * SECONDS,
      compile: compile * SECONDS,
      both: both * SECONDS,
      nodes,
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
