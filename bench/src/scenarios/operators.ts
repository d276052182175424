import { formatOperatorTable } from "@mp/cli/training";
import { float32 } from "@mp/core";
import { profiledOperators } from "../operator-profile.js";
import { usualSizes, type WorkloadName, workloadOf } from "../workloads/workloads.js";
import type { Scenario } from "./scenario.js";

/** Time per operator of W1 to W4 in float32, from the engine's own profile. */
export const operators: Scenario = {
  title: "time per operator in float32",
  parts: ["w1", "w2", "w3", "w4"],
  rounds: 1,
  run: async ({ backend, part, quick }) => {
    const training = await workloadOf(usualSizes(part as WorkloadName)).train(backend, float32());
    const table = await profiledOperators(
      training,
      quick ? { warmup: 1, steps: 1 } : { warmup: 5, steps: 9 },
    );
    await training.dispose();
    return {
      figures: { milliseconds: table.milliseconds },
      text: `${part}\n${formatOperatorTable(table)}`,
    };
  },
  report: (measured) =>
    operators.parts.map((part) => ({
      name: `${part}: all operators`,
      value: measured(part, "milliseconds"),
      unit: "ms",
    })),
};
