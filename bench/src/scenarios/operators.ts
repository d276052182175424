import { formatOperatorTable, operatorTable } from "@mp/cli/training";
import { float32 } from "@mp/core";
import { graphCost, type ProfileRow } from "@mp/core/graph";
import { WORKLOADS, type WorkloadName } from "../job.js";
import { median } from "../statistics.js";
import { workloadOf } from "../workloads/workloads.js";
import type { Scenario } from "./scenario.js";

/** Time per operator of W1 to W4 in float32, from the engine's own profile. */
export const operators: Scenario = {
  title: "time per operator in float32",
  parts: ["w1", "w2", "w3", "w4"],
  rounds: 1,
  run: async ({ backend, part, quick }) => {
    const name = WORKLOADS.find((workload) => workload === part) as WorkloadName;
    const training = await workloadOf(name).train(backend, float32());
    for (let step = 0; step < (quick ? 1 : 5); step++) await training.step();
    const profiles: (readonly ProfileRow[])[] = [];
    for (let step = 0; step < (quick ? 1 : 9); step++) profiles.push(await training.profile());
    const graph = training.graph();
    const table = operatorTable(medianRows(profiles), { nodes: graph.nodes, work: graphCost(graph).byOp });
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

/** Each row's median over several profiles of the same program. */
function medianRows(profiles: readonly (readonly ProfileRow[])[]): readonly ProfileRow[] {
  const rows = new Map<string, ProfileRow[]>();
  for (const row of profiles.flat()) {
    const id = `${row.node} ${row.op}`;
    rows.set(id, [...(rows.get(id) ?? []), row]);
  }
  return [...rows.values()].map((same) => ({
    ...(same[0] as ProfileRow),
    microseconds: median(same.map(({ microseconds }) => microseconds)),
  }));
}
