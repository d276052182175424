import { formatOperatorTable, operatorTable } from "@mp/cli/training";
import { float32, MpError } from "@mp/core";
import { timedBackend } from "../backend-wrappers.js";
import { graphWork } from "../graph-work.js";
import { WORKLOADS, type WorkloadName } from "../job.js";
import { workloadOf } from "../workloads/workloads.js";
import type { Scenario } from "./scenario.js";

/** Time per operator of W1 and W2 in float32, by the engine's own profile. */
export const operators: Scenario = {
  title: "time per operator in float32",
  parts: ["w1", "w2"],
  rounds: 1,
  run: async ({ backend, part, quick }) => {
    const name = WORKLOADS.find((workload) => workload === part) as WorkloadName;
    const { backend: timed, timings } = timedBackend(backend);
    const training = await workloadOf(name).train(timed, float32());
    for (let step = 0; step < (quick ? 1 : 5); step++) await training.step();
    const { executable, inputs } = timings;
    if (executable?.profile === undefined) {
      throw new MpError("MP_UNSUPPORTED", `operators: ${backend.name} does not profile`);
    }
    const profile = await executable.profile(inputs);
    const graph = training.graph();
    const table = operatorTable(profile, { nodes: graph.nodes, work: graphWork(graph) });
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
