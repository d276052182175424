/** The table of `--table`: BLEU, fastest step and memory in float32 and both mixed precisions, over several seeds. */
import type { RunResult } from "@mp/cli";
import { type Finished, formatKinds, type Kind, metricOf, moments } from "@mp/cli/training";
import type { Options } from "./flags.js";

type Row = Finished<Kind<Options>, { readonly result: RunResult }>;

const exactMatches = ({ runs }: Row): readonly number[] =>
  runs.map(({ result }) => Number(result.details?.["exactMatch"]));
/** The fastest step of all runs: other work on the machine slows down the rest. */
const milliseconds = ({ runs }: Row): number | undefined =>
  least(runs.flatMap(({ result }) => result.msPerStep?.min ?? []));
const peakBytes = ({ runs }: Row): number | undefined =>
  least(runs.flatMap(({ result }) => result.peakMemoryBytes ?? []));
const least = (values: readonly number[]): number | undefined =>
  values.length === 0 ? undefined : Math.min(...values);
const show = (value: number | undefined, digits: number, unit = 1): string =>
  value === undefined ? "not measured" : (value / unit).toFixed(digits);

export const percent = (share: number): string => (100 * share).toFixed(1);

export function formatTable(kinds: readonly Row[]): string {
  return formatKinds(kinds, {
    show: (value) => value.toFixed(2),
    columns: {
      "exact match, %": (kind) => percent(moments(exactMatches(kind)).mean),
      "fastest step, ms": (kind) => show(milliseconds(kind), 1),
      "peak, MiB": (kind) => show(peakBytes(kind), 1, 2 ** 20),
    },
  });
}

/** The `--json` data of an entry. */
export const tableEntry = (kind: Row): Readonly<Record<string, unknown>> => ({
  name: kind.name,
  bleu: metricOf(kind),
  exactMatch: exactMatches(kind),
  fastestStepMs: milliseconds(kind),
  peakMemoryBytes: peakBytes(kind),
});
