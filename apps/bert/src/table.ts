/** `--table`: float32 and both mixed precisions, each over several seeds: quality, time and memory. */
import type { PrecisionName, RunResult } from "@mp/cli";
import { type Finished, type Kind, moments, plainOptions } from "@mp/cli/training";
import type { Options } from "./flags.js";

const MIXED = ["mixed_float16", "mixed_bfloat16"] as const satisfies readonly PrecisionName[];

type Row = Finished<Kind<Options>, { readonly result: RunResult }>;

export const tableKinds = (options: Options): readonly Kind<Options>[] => [
  { name: "float32", options: plainOptions(options) },
  ...MIXED.map((precision) => ({ name: precision, options: { ...options, precision } })),
];

/** Formats the task's metric. */
export const show =
  ({ task }: Pick<Options, "task">) =>
  (value: number): string =>
    task === "classify" ? (100 * value).toFixed(2) : value.toFixed(2);

const mean = (values: readonly (number | null | undefined)[], unit = 1): string => {
  const known = values.filter((value) => typeof value === "number");
  return known.length < values.length || known.length === 0
    ? "not measured"
    : (moments(known).mean / unit).toFixed(0);
};

/** Means over the seeds. */
export const tableColumns: Readonly<Record<string, (row: Row) => string>> = {
  "ms per step": ({ runs }) => mean(runs.map(({ result }) => result.msPerStep?.median)),
  "peak MiB": ({ runs }) =>
    mean(
      runs.map(({ result }) => result.peakMemoryBytes),
      2 ** 20,
    ),
};
