/** Each operator's time in float32 and in a mixed precision, and the rates of the products. */
import { columnTable, type OperatorRow, type OperatorTable } from "@mp/cli/training";
import type { BenchOptions } from "./command-line.js";
import type { PrecisionName, ProfileReport } from "./job.js";
import { askChild } from "./side.js";
import { toDecimals } from "./statistics.js";
import type { SizedWorkload } from "./workloads/workloads.js";

export interface OperatorGainRow {
  readonly op: string;
  /** Null if float32 has no such operator, such as a cast, or spends less than 0.25 % of its time on it. */
  readonly float32Milliseconds: number | null;
  /** Null in the same cases for the other precision. */
  readonly milliseconds: number | null;
  /** Fraction of the step's whole time in that precision, 0 … 1. */
  readonly share: number;
  /** Time in float32 divided by the time in the precision. */
  readonly speedUp: number | null;
  readonly float32Teraflops: number | null;
  readonly teraflops: number | null;
}

export type OperatorGain =
  | {
      readonly precision: PrecisionName;
      /** Sums of all operators. */
      readonly float32Milliseconds: number;
      readonly milliseconds: number;
      /** Operators above a quarter of a percent of the time in either precision, the most expensive in float32 first. */
      readonly rows: readonly OperatorGainRow[];
    }
  | { readonly unsupported: string };

/**
 * Makes every launch of a CUDA kernel wait for its end. Otherwise the engine's profile has only the time of the
 * launch.
 */
const ENVIRONMENT: Readonly<Record<string, string>> = { CUDA_LAUNCH_BLOCKING: "1" };

/** Profiles the workload in float32 and in the precision, each in a process of its own. */
export async function operatorGain(workload: SizedWorkload, options: BenchOptions): Promise<OperatorGain> {
  const { choice, quick, precision } = options;
  const profile = (own: PrecisionName) =>
    askChild<ProfileReport>({ kind: "profile", workload, precision: own, choice, quick }, ENVIRONMENT);
  const single = await profile("float32");
  if ("unsupported" in single) return single;
  const mixed = precision === "float32" ? single : await profile(precision);
  return "unsupported" in mixed ? mixed : compareTables(precision, single.table, mixed.table);
}

/** The rows of both tables side by side. */
export function compareTables(
  precision: PrecisionName,
  single: OperatorTable,
  mixed: OperatorTable,
): Exclude<OperatorGain, { readonly unsupported: string }> {
  const before = new Map(single.rows.map((row) => [row.op, row]));
  const after = new Map(mixed.rows.map((row) => [row.op, row]));
  const rows = [...new Set([...before.keys(), ...after.keys()])].map((op): OperatorGainRow => {
    const [from, to] = [before.get(op), after.get(op)];
    return {
      op,
      float32Milliseconds: milliseconds(from),
      milliseconds: milliseconds(to),
      share: toDecimals(to?.share ?? 0, 4),
      speedUp:
        from === undefined || to === undefined || to.milliseconds === 0
          ? null
          : toDecimals(from.milliseconds / to.milliseconds, 3),
      float32Teraflops: teraflops(from),
      teraflops: teraflops(to),
    };
  });
  return {
    precision,
    float32Milliseconds: toDecimals(single.milliseconds, 3),
    milliseconds: toDecimals(mixed.milliseconds, 3),
    rows,
  };
}

const milliseconds = (row: OperatorRow | undefined): number | null =>
  row === undefined ? null : toDecimals(row.milliseconds, 3);
const teraflops = (row: OperatorRow | undefined): number | null => {
  const rate = row?.gigaflopsPerSecond ?? 0;
  return rate === 0 ? null : toDecimals(rate / 1000, 4);
};

export function formatGain(gain: OperatorGain): string {
  if ("unsupported" in gain) return `time by operator: none, ${gain.unsupported}`;
  const text = (value: number | null, decimals: number): string =>
    value === null ? "" : value.toFixed(decimals);
  const { float32Milliseconds, milliseconds } = gain;
  const none = { share: null, speedUp: null, float32Teraflops: null, teraflops: null };
  return columnTable([...gain.rows, { op: "all", float32Milliseconds, milliseconds, ...none }], {
    operator: ({ op }) => op,
    "float32 ms": (row) => text(row.float32Milliseconds, 2),
    [`${gain.precision} ms`]: (row) => text(row.milliseconds, 2),
    share: ({ share }) => (share === null ? "" : `${(share * 100).toFixed(2)} %`),
    times: (row) => text(row.speedUp, 2),
    "float32 TFLOP/s": (row) => text(row.float32Teraflops, 3),
    "TFLOP/s": (row) => text(row.teraflops, 3),
  });
}
