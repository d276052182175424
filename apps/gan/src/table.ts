/** The table of `--table`: the three precisions over several seeds. */
import type { RunResult } from "@mp/cli";
import { type Finished, type Kind, precisionKinds } from "@mp/cli/training";
import type { Options } from "./flags.js";

type Runs = Finished<Kind<Options>, { readonly result: RunResult }>;

export const tableKinds = (options: Options): readonly Kind<Options>[] =>
  precisionKinds(options, { discriminatorScale: undefined, generatorScale: undefined });

const median = (values: readonly number[]): number | undefined =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

/** Columns for time and memory; a dash if the engine does not report them. */
export const tableColumns: Readonly<Record<string, (kind: Runs) => string>> = {
  "ms per step": ({ runs }) => show(median(runs.flatMap(({ result }) => result.msPerStep?.median ?? []))),
  "peak MiB": ({ runs }) => show(median(runs.flatMap(({ result }) => result.peakMemoryBytes ?? [])), 2 ** 20),
  skipped: ({ runs }) => String(runs.reduce((sum, { result }) => sum + result.skipped, 0)),
};

const show = (value: number | undefined, unit = 1): string =>
  value === undefined ? "-" : (value / unit).toFixed(1);
