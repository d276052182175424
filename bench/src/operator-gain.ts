/** Each operator's time in float32 beside its time in a mixed precision, and what was achieved in the products. */
import { fileURLToPath } from "node:url";
import { type OperatorRow, type OperatorTable, textTable } from "@mp/cli/training";
import type { BenchOptions } from "./command-line.js";
import { askProcess } from "./fresh-process.js";
import type { ChildJob, PrecisionName, ProfileReport } from "./job.js";
import { rounded } from "./statistics.js";
import type { SizedWorkload } from "./workloads/workloads.js";

export interface OperatorGainRow {
  readonly op: string;
  /** Null where the step in float32 has no such operator, as it has no casts. */
  readonly float32Milliseconds: number | null;
  /** Null where the step in the other precision has none. */
  readonly milliseconds: number | null;
  /** Share of the step's whole time in that precision, 0 … 1. */
  readonly share: number;
  /** Its time in float32 divided by that in the precision. */
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
      /** Operators above a quarter of a percent of the time in either, the most expensive in float32 first. */
      readonly rows: readonly OperatorGainRow[];
    }
  | { readonly unsupported: string };

const CHILD = fileURLToPath(new URL("./child.js", import.meta.url));

/**
 * CUDA's kernels run behind the engine's back: its profile has the time in which a kernel was launched, unless every
 * launch waits for its end.
 */
const ENVIRONMENT: Readonly<Record<string, string>> = { CUDA_LAUNCH_BLOCKING: "1" };

/** Profiles the workload in float32 and in the precision, each in a process of its own. */
export async function operatorGain(workload: SizedWorkload, options: BenchOptions): Promise<OperatorGain> {
  const { choice, quick, precision } = options;
  const profiled = (own: PrecisionName): Promise<ProfileReport> => {
    const job: ChildJob = { kind: "profile", workload, precision: own, choice, quick };
    return askProcess<ProfileReport>(process.execPath, [CHILD, JSON.stringify(job)], ENVIRONMENT);
  };
  const single = await profiled("float32");
  if ("unsupported" in single) return single;
  const mixed = precision === "float32" ? single : await profiled(precision);
  return "unsupported" in mixed ? mixed : gainOf(precision, single.table, mixed.table);
}

/** The rows of both tables side by side. */
export function gainOf(
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
      share: rounded(to?.share ?? 0, 4),
      speedUp:
        from === undefined || to === undefined || to.milliseconds === 0
          ? null
          : rounded(from.milliseconds / to.milliseconds, 3),
      float32Teraflops: teraflops(from),
      teraflops: teraflops(to),
    };
  });
  return {
    precision,
    float32Milliseconds: rounded(single.milliseconds, 3),
    milliseconds: rounded(mixed.milliseconds, 3),
    rows,
  };
}

const milliseconds = (row: OperatorRow | undefined): number | null =>
  row === undefined ? null : rounded(row.milliseconds, 3);
const teraflops = (row: OperatorRow | undefined): number | null => {
  const rate = row?.gigaflopsPerSecond ?? 0;
  return rate === 0 ? null : rounded(rate / 1000, 4);
};

export function formatGain(gain: OperatorGain): string {
  if ("unsupported" in gain) return `time by operator: none, ${gain.unsupported}`;
  const text = (value: number | null, decimals: number): string =>
    value === null ? "" : value.toFixed(decimals);
  const rows = gain.rows.map((row) => [
    row.op,
    text(row.float32Milliseconds, 2),
    text(row.milliseconds, 2),
    `${(row.share * 100).toFixed(2)} %`,
    text(row.speedUp, 2),
    text(row.float32Teraflops, 3),
    text(row.teraflops, 3),
  ]);
  rows.push(["all", gain.float32Milliseconds.toFixed(2), gain.milliseconds.toFixed(2), "", "", "", ""]);
  const header = [
    "operator",
    "float32 ms",
    `${gain.precision} ms`,
    "share",
    "times",
    "float32 TFLOP/s",
    "TFLOP/s",
  ];
  return textTable(header, rows);
}
