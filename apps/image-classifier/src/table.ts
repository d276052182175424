/** The talk's table: networks against precisions, each over several seeds, and how much the precisions differ. */
import type { AppContext, PrecisionName, RunResult } from "@mp/cli";
import { textTable } from "@mp/cli/training";
import type { Options } from "./flags.js";
import type { Images } from "./images.js";
import type { ModelName } from "./models/index.js";
import { runClassifier } from "./run.js";

const NETS: readonly ModelName[] = ["resnet20", "vgg", "alexnet"];
const MIXED = ["mixed_float16", "mixed_bfloat16"] as const satisfies readonly PrecisionName[];

/** Accuracies by seed, in one order for all. */
export interface TableEntry {
  readonly net: string;
  readonly float32: readonly number[];
  readonly mixed: Readonly<Record<(typeof MIXED)[number], readonly number[]>>;
}

/** Trains them all; the same seeds, and so the same starts and batches, in each precision. */
export async function runTable(options: Options, images: Images, context: AppContext) {
  const runs: RunResult[] = [];
  const entries: TableEntry[] = [];
  const seeds = Array.from({ length: options.seeds }, (_, index) => options.seed + index);
  const total = NETS.length * (1 + MIXED.length) * seeds.length;
  for (const model of NETS) {
    const values = new Map<PrecisionName, number[]>();
    for (const precision of ["float32", ...MIXED] as const) {
      for (const seed of seeds) {
        const label = `${runs.length + 1}/${total} ${model} ${precision} ${seed}`;
        const own = { ...options, model, precision, seed };
        const run = await runClassifier(
          { options: own, label, save: undefined, resume: undefined, report: undefined },
          images,
          context,
        );
        // Stopped in the middle: neither this run nor its network is whole.
        if (context.signal.aborted) return { runs, entries };
        runs.push({ ...run, details: { ...run.details, data: undefined } });
        values.set(precision, [...(values.get(precision) ?? []), run.metric.value]);
      }
    }
    const of = (precision: PrecisionName): readonly number[] => values.get(precision) ?? [];
    const mixed = { mixed_float16: of("mixed_float16"), mixed_bfloat16: of("mixed_bfloat16") };
    entries.push({ net: model, float32: of("float32"), mixed });
  }
  return { runs, entries };
}

/** One line a network and mixed precision: accuracies, and the difference of the two at the same seed, in percent. */
export function formatTable(entries: readonly TableEntry[]): string {
  const lines = entries.flatMap(({ net, float32, mixed }) =>
    MIXED.map((precision) => {
      const differences = mixed[precision].map((value, index) => value - (float32[index] ?? Number.NaN));
      const { mean, deviation } = moments(differences);
      const within = Math.abs(mean) <= 2 * deviation || mean === 0 ? "yes" : "no";
      return [net, spread(float32), precision, spread(mixed[precision]), signed(mean, deviation), within];
    }),
  );
  return textTable(["net", "float32", "precision", "mixed", "difference", "within 2 sd"], lines);
}

/** Mean, and the standard deviation of the values themselves (n - 1); 0 of a single one. */
export function moments(values: readonly number[]): { readonly mean: number; readonly deviation: number } {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  if (values.length < 2) return { mean, deviation: 0 };
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, deviation: Math.sqrt(squares / (values.length - 1)) };
}

const percent = (share: number): string => (100 * share).toFixed(2);

function spread(values: readonly number[]): string {
  const { mean, deviation } = moments(values);
  return `${percent(mean)} ± ${percent(deviation)}`;
}

function signed(mean: number, deviation: number): string {
  return `${mean < 0 ? "" : "+"}${percent(mean)} ± ${percent(deviation)}`;
}
