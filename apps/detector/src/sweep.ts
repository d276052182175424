/** The talk's experiment: the same network at several loss scales, compared with float32. */
import { type RunResult, UsageError } from "@mp/cli";
import { type Finished, formatKinds, type Kind, metricOf, moments, plainOptions } from "@mp/cli/training";
import type { Options } from "./flags.js";
import { percent, shareFlushed } from "./gradient-histogram.js";
import type { DetectorRun } from "./run.js";

export type SweepKind = Kind<Options> & {
  readonly kind: "float32" | "static" | "dynamic";
  /** The static scale, if this kind of run has one. */
  readonly scale?: number;
};

/** A run, and the fraction of its nonzero gradients at the end that f16 rounds to 0 at the final scale. */
export interface SweepRun {
  readonly result: RunResult;
  /** Undefined for float32. */
  readonly flushed: number | undefined;
}

/** float32, each static scale, and the dynamic scale. @throws UsageError for a precision without float16 */
export function sweepKinds(options: Options, scales: readonly number[]): readonly SweepKind[] {
  const precision = options.precision === "mixed" ? "mixed_float16" : options.precision;
  if (precision !== "mixed_float16" && precision !== "float16") {
    throw new UsageError(
      `--scales is for float16, whose range is short, not for ${precision}; take --precision mixed_float16 or float16`,
    );
  }
  const plain = plainOptions(options, { halfReductions: false });
  // The histogram of gradients shows which of them are lost.
  const mixed = { ...options, precision, histogram: true } as const;
  return [
    { kind: "float32", name: "float32", options: plain },
    ...scales.map((scale) => {
      const own = { ...mixed, lossScale: scale };
      return { kind: "static" as const, scale, name: scaleName(scale), options: own };
    }),
    { kind: "dynamic", name: "dynamic", options: { ...mixed, lossScale: "dynamic" } },
  ];
}

export function sweepRun({ result, report }: DetectorRun): SweepRun {
  const flushed =
    report === undefined ? undefined : shareFlushed(report.gradients.histogram, result.finalScale);
  return { result, flushed };
}

type Swept = Finished<SweepKind, SweepRun>;

/** One line per kind of run: mAP, and its difference from float32 at the same seed. */
export function formatSweep(kinds: readonly Swept[]): string {
  const mean = (values: readonly number[]): number => moments(values).mean;
  const columns = {
    "flushed to 0": (kind: Swept): string =>
      kind.kind === "float32" ? "" : percent(mean(flushedShares(kind))),
    skipped: (kind: Swept): string => String(Math.round(mean(skipCounts(kind)))),
  };
  return formatKinds(kinds, { show: (value) => value.toFixed(4), columns });
}

/** The `--json` entry of a kind of run. Its lists are by seed, in the same order for all kinds. */
export const sweepEntry = (kind: Swept): Readonly<Record<string, unknown>> => ({
  kind: kind.kind,
  ...(kind.scale === undefined ? {} : { scale: kind.scale }),
  metric: metricOf(kind),
  flushed: flushedShares(kind),
  skipped: skipCounts(kind),
});

const flushedShares = ({ runs }: Swept): readonly number[] =>
  runs.flatMap(({ flushed }) => (flushed === undefined ? [] : [flushed]));
const skipCounts = ({ runs }: Swept): readonly number[] => runs.map(({ result }) => result.skipped);

/** Names a scale: small and large powers of two as such. */
function scaleName(scale: number): string {
  const exponent = Math.log2(scale);
  const isLong = exponent < 0 || exponent > 10;
  return `scale ${Number.isInteger(exponent) && isLong ? `2^${exponent}` : scale}`;
}
