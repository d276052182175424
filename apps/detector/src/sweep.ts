/** The talk's experiment: the same network at several loss scales, beside float32. */
import { type AppContext, type RunResult, UsageError } from "@mp/cli";
import { textTable } from "@mp/cli/training";
import { float32 } from "@mp/core";
import type { Scenes } from "./data/scenes.js";
import type { Options } from "./flags.js";
import { gradientsOf, percent, shareFlushed } from "./gradient-histogram.js";
import { runDetector } from "./run.js";

export interface SweepEntry {
  readonly kind: "float32" | "static" | "dynamic";
  /** Of a static one. */
  readonly scale?: number;
  /** By seed, in one order for all. */
  readonly metric: readonly number[];
  /** Of the gradients that are not 0 at the end, those that f16 rounds to 0 at the scale that the run ended at. */
  readonly flushed: readonly number[];
  readonly skipped: readonly number[];
}

/** Trains them all; the same seeds, and so the same starts and batches, at each scale. */
export async function runSweep(
  options: Options,
  scales: readonly number[],
  scenes: Scenes,
  context: AppContext,
): Promise<{ readonly entries: readonly SweepEntry[]; readonly runs: readonly RunResult[] }> {
  const precision = options.precision === "mixed" ? "mixed_float16" : options.precision;
  if (precision !== "mixed_float16" && precision !== "float16") {
    throw new UsageError(
      `--scales is for float16, whose range is short, not for ${precision}; take --precision mixed_float16 or float16`,
    );
  }
  const runs: RunResult[] = [];
  const seeds = Array.from({ length: options.seeds }, (_, index) => options.seed + index);
  const kinds = [
    { kind: "float32" as const },
    ...scales.map((scale) => ({ kind: "static" as const, scale })),
    { kind: "dynamic" as const },
  ];
  const entries: SweepEntry[] = [];
  for (const { kind, scale } of kinds as readonly Pick<SweepEntry, "kind" | "scale">[]) {
    const [metric, flushed, skipped]: [number[], number[], number[]] = [[], [], []];
    for (const seed of seeds) {
      const lossScale = kind === "dynamic" ? "dynamic" : scale;
      const label = `${runs.length + 1}/${kinds.length * seeds.length} ${nameOf(kind, scale)}, seed ${seed}`;
      const own = { ...options, precision, seed, lossScale } as Options;
      const variant = { options: own, label, save: undefined, resume: undefined, report: undefined };
      const { result, report } = await runDetector(
        kind === "float32" ? { ...variant, precision: float32() } : variant,
        scenes,
        context,
        kind !== "float32",
      );
      // Stopped before its end it is no run to compare with.
      if (context.signal.aborted) return { entries, runs };
      runs.push({ ...result, details: { ...result.details, data: undefined } });
      metric.push(result.metric.value);
      skipped.push(result.skipped);
      if (report !== undefined) flushed.push(shareFlushed(gradientsOf(report), result.finalScale));
    }
    entries.push({ kind, ...(scale === undefined ? {} : { scale }), metric, flushed, skipped });
  }
  return { entries, runs };
}

/** One line a kind: mAP, and its difference to float32 at the same seed. */
export function formatSweep(entries: readonly SweepEntry[]): string {
  const baseline = entries.find(({ kind }) => kind === "float32")?.metric ?? [];
  const rows = entries.map(({ kind, scale, metric, flushed, skipped }) => {
    const differences = metric.map((value, index) => value - (baseline[index] ?? Number.NaN));
    const { mean, deviation } = moments(differences);
    return [
      nameOf(kind, scale),
      flushed.length === 0 ? "" : percent(moments(flushed).mean),
      String(Math.round(moments(skipped).mean)),
      spread(metric),
      kind === "float32" ? "" : `${mean < 0 ? "" : "+"}${mean.toFixed(4)} ± ${deviation.toFixed(4)}`,
    ];
  });
  return textTable(["", "flushed to 0", "skipped", "mAP", "against float32"], rows);
}

/** Powers of two that are small or large as such. */
function nameOf(kind: SweepEntry["kind"], scale: number | undefined): string {
  if (scale === undefined) return kind;
  const exponent = Math.log2(scale);
  const isLong = exponent < 0 || exponent > 10;
  return `scale ${Number.isInteger(exponent) && isLong ? `2^${exponent}` : scale}`;
}

/** Mean, and the standard deviation of the values themselves (n - 1); 0 of a single one. */
function moments(values: readonly number[]): { readonly mean: number; readonly deviation: number } {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  if (values.length < 2) return { mean, deviation: 0 };
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, deviation: Math.sqrt(squares / (values.length - 1)) };
}

function spread(values: readonly number[]): string {
  const { mean, deviation } = moments(values);
  return `${mean.toFixed(4)} ± ${deviation.toFixed(4)}`;
}
