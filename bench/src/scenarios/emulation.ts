import { float32, mixedFloat16 } from "@mp/core";
import { interleave } from "../timing.js";
import { wordModel } from "../workloads/word-model.js";
import { ALONE, type Scenario } from "./scenario.js";

/** The LSTM workload W2 in mixed_float16, emulated where the engine lacks float16, compared with float32. */
export const emulation: Scenario = {
  title: "mixed_float16 beside float32 on W2",
  parts: [ALONE],
  run: async ({ backend, quick }) => {
    const workload = wordModel();
    const single = await workload.train(backend, float32());
    const mixed = await workload.train(backend, mixedFloat16());
    const figures = await interleave(
      { float32: () => single.step(), mixed: () => mixed.step() },
      quick ? { warmup: 1, steps: 1 } : { warmup: 3, steps: 25 },
    );
    await Promise.all([single.dispose(), mixed.dispose()]);
    return { ...figures, ratio: figures.mixed / figures.float32 };
  },
  report: (measured) => [
    { name: "float32", value: measured(ALONE, "float32"), unit: "ms" },
    { name: "mixed_float16", value: measured(ALONE, "mixed"), unit: "ms" },
    { name: "mixed_float16, of float32", value: measured(ALONE, "ratio"), unit: "times", bar: 1.3 },
  ],
};
