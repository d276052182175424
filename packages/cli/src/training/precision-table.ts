import type { PrecisionName } from "../common-flags.js";
import type { RunResult } from "../result.js";
import { moments } from "./moments.js";
import type { Finished, Kind, SeededOptions } from "./over-seeds.js";
import { plainOptions } from "./plain.js";
import { type KindTable, trainKinds } from "./train-many.js";

const MIXED = ["mixed_float16", "mixed_bfloat16"] as const satisfies readonly PrecisionName[];

/** Kinds of run for float32 and both mixed precisions. `changes` replaces flags of the app in the float32 runs. */
export function precisionKinds<O extends SeededOptions>(
  options: O,
  changes?: Partial<O>,
): readonly Kind<O>[] {
  return [
    { name: "float32", options: plainOptions(options, changes) },
    ...MIXED.map((precision) => ({ name: precision, options: { ...options, precision } })),
  ];
}

/** Runs `--table`: quality, time and memory in each precision. */
export function precisionTable<O extends SeededOptions>(table: KindTable<O>): Promise<void> {
  return trainKinds(table, "table", precisionKinds(table.options), columns);
}

type Row = Finished<Kind<SeededOptions>, { readonly result: RunResult }>;

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
