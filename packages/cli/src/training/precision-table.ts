/** `--table`: float32 and both mixed precisions, each over several seeds: quality, time and memory. */
import type { PrecisionName } from "../common-flags.js";
import type { RunResult } from "../result.js";
import type { AppContext } from "../run-app.js";
import { formatKinds, metricOf } from "./kind-table.js";
import { moments } from "./moments.js";
import type { Finished, Kind, SeededOptions } from "./over-seeds.js";
import { plainOptions } from "./plain.js";
import { trainMany } from "./train-many.js";

const MIXED = ["mixed_float16", "mixed_bfloat16"] as const satisfies readonly PrecisionName[];

export interface PrecisionTable<O extends SeededOptions> {
  readonly options: O;
  readonly context: AppContext;
  readonly run: (options: O, label: string) => Promise<{ readonly result: RunResult }>;
  /** Formats a value of the metric for the table. */
  readonly show: (value: number) => string;
}

/** float32 and both mixed precisions. `changes` of the app's own flags are for float32 alone. */
export function precisionKinds<O extends SeededOptions>(
  options: O,
  changes?: Partial<O>,
): readonly Kind<O>[] {
  return [
    { name: "float32", options: plainOptions(options, changes) },
    ...MIXED.map((precision) => ({ name: precision, options: { ...options, precision } })),
  ];
}

/** Trains in each precision over `--seeds`, prints the table, and writes it to the `--json` path. */
export async function precisionTable<O extends SeededOptions>(table: PrecisionTable<O>): Promise<void> {
  const { options, context, run, show } = table;
  await trainMany({
    options,
    context,
    run,
    name: "table",
    kinds: precisionKinds(options),
    format: (kinds) => formatKinds(kinds, { show, columns }),
    entry: (kind) => ({ name: kind.name, metric: metricOf(kind) }),
  });
}

type Row = Finished<Kind<SeededOptions>, { readonly result: RunResult }>;

/** Means over the seeds. */
const columns: Readonly<Record<string, (row: Row) => string>> = {
  "ms per step": ({ runs }) => mean(runs.map(({ result }) => result.msPerStep?.median)),
  "peak MiB": ({ runs }) =>
    mean(
      runs.map(({ result }) => result.peakMemoryBytes),
      2 ** 20,
    ),
};

function mean(values: readonly (number | null | undefined)[], unit = 1): string {
  const known = values.filter((value) => typeof value === "number");
  if (known.length < values.length || known.length === 0) return "not measured";
  const value = moments(known).mean / unit;
  return value.toFixed(value < 100 ? 1 : 0);
}
