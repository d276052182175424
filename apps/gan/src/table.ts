/** The table of `--table`: the three precisions over several seeds. */
import type { PrecisionName, RunResult } from "@mp/cli";
import { type Finished, type Kind, plainOptions } from "@mp/cli/training";
import type { Options } from "./flags.js";

const MIXED = ["mixed_float16", "mixed_bfloat16"] as const satisfies readonly PrecisionName[];

type Runs = Finished<Kind<Options>, { readonly result: RunResult }>;

export function tableKinds(options: Options): readonly Kind<Options>[] {
  const plain = plainOptions(options, { discriminatorScale: undefined, generatorScale: undefined });
  return [
    { name: "float32", options: plain },
    ...MIXED.map((precision) => ({ name: precision, options: { ...options, precision } })),
  ];
}

const median = (values: readonly number[]): number | undefined =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

/** The columns of time and memory; a dash for what the engine does not report. */
export const tableColumns: Readonly<Record<string, (kind: Runs) => string>> = {
  "ms per step": ({ runs }) => shown(median(runs.flatMap(({ result }) => result.msPerStep?.median ?? []))),
  "peak MiB": ({ runs }) =>
    shown(median(runs.flatMap(({ result }) => result.peakMemoryBytes ?? [])), 2 ** 20),
  skipped: ({ runs }) => String(runs.reduce((sum, { result }) => sum + result.skipped, 0)),
};

const shown = (value: number | undefined, unit = 1): string =>
  value === undefined ? "-" : (value / unit).toFixed(1);
