import { dynamicLossScale, float32 } from "@mp/core";
import { interleave } from "../timing.js";
import { wordModel } from "../workloads/word-model.js";
import { ALONE, type Scenario } from "./scenario.js";

/** The LSTM workload W2 in float32 with all safety checks of a step, compared with gradients and optimizer alone. */
export const updateCost: Scenario = {
  title: "finite check, unscaling, commit and scaler on W2 in float32",
  parts: [ALONE],
  run: async ({ backend, quick }) => {
    const workload = wordModel();
    const scaled = { ...float32(), lossScaler: dynamicLossScale() };
    const safe = await workload.train(backend, scaled);
    const unscaled = await workload.train(backend, float32());
    const unchecked = await workload.train(backend, float32(), { checkNewParameters: false });
    const plain = await workload.trainPlain(backend);
    const figures = await interleave(
      {
        safe: () => safe.step(),
        unscaled: () => unscaled.step(),
        unchecked: () => unchecked.step(),
        plain: () => plain.step(),
      },
      quick ? { warmup: 1, steps: 1 } : { warmup: 3, steps: 25 },
    );
    await Promise.all([safe.dispose(), unscaled.dispose(), unchecked.dispose(), plain.dispose()]);
    return {
      ...figures,
      scaledOverPlain: figures.safe / figures.plain,
      unscaledOverPlain: figures.unscaled / figures.plain,
      checkedOverUnchecked: figures.unscaled / figures.unchecked,
    };
  },
  report: (measured) => [
    { name: "gradients and optimizer alone", value: measured(ALONE, "plain"), unit: "ms" },
    { name: "with finite check and commit", value: measured(ALONE, "unscaled"), unit: "ms" },
    { name: "with dynamic loss scaling too", value: measured(ALONE, "safe"), unit: "ms" },
    {
      name: "new parameters checked, of gradients checked",
      value: measured(ALONE, "checkedOverUnchecked"),
      unit: "times",
      bar: 1.01,
    },
    { name: "check and commit, of alone", value: measured(ALONE, "unscaledOverPlain"), unit: "times" },
    { name: "all of it, of alone", value: measured(ALONE, "scaledOverPlain"), unit: "times", bar: 1.03 },
  ],
};
