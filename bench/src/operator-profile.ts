import { type OperatorTable, operatorTable } from "@mp/cli/training";
import { graphCost, type ProfileRow } from "@mp/core/graph";
import { median } from "./statistics.js";
import type { Training } from "./workloads/workload.js";

/** Time by operator of a training step: for each node, the median over several profiled steps. */
export async function profileOperators(
  training: Training,
  counts: { readonly warmup: number; readonly steps: number },
): Promise<OperatorTable> {
  for (let step = 0; step < counts.warmup; step++) await training.step();
  const profiles: (readonly ProfileRow[])[] = [];
  for (let step = 0; step < counts.steps; step++) profiles.push(await training.profile());
  const graph = training.graph();
  return operatorTable(medianRows(profiles), { nodes: graph.nodes, work: graphCost(graph).byOp });
}

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
