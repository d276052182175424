import type { RunResult } from "../result.js";
import { textTable } from "../text-table.js";
import { differences, signedSpread, spread } from "./moments.js";
import type { Finished } from "./over-seeds.js";

export interface KindTableOptions<K> {
  /** Formats a value of the metric for the table. */
  readonly show: (value: number) => string;
  /** Further columns between the name and the metric. */
  readonly columns?: Readonly<Record<string, (kind: K) => string>>;
}

/** Formats a row per kind of run: name, mean metric over the seeds, mean difference from the first at equal seeds. */
export function formatKinds<K extends Finished<{ readonly name: string }, { readonly result: RunResult }>>(
  kinds: readonly K[],
  { show, columns = {} }: KindTableOptions<K>,
): string {
  const [baseline] = kinds;
  if (baseline === undefined) return "No kind came to its end.";
  const name = baseline.runs[0]?.result.metric.name ?? "";
  const base = metricOf(baseline);
  const rows = kinds.map((kind) => [
    kind.name,
    ...Object.values(columns).map((cell) => cell(kind)),
    spread(metricOf(kind), show),
    kind === baseline ? "" : signedSpread(differences(metricOf(kind), base), show),
  ]);
  return textTable(["", ...Object.keys(columns), name, `against ${baseline.name}`], rows);
}

/** The metric for each seed. */
export const metricOf = ({
  runs,
}: {
  readonly runs: readonly { readonly result: Pick<RunResult, "metric"> }[];
}): readonly number[] => runs.map(({ result }) => result.metric.value);
