import type { ProfileRow } from "@mp/core/graph";
import { textTable } from "../text-table.js";

/** Work of all nodes of one operator: a row of `graphCost(graph).byOp`. */
export interface OperatorWork {
  readonly flops: number;
  readonly bytes: number;
}

export interface OperatorRow {
  readonly op: string;
  readonly calls: number;
  readonly milliseconds: number;
  /** Fraction of all time in the profile, 0 … 1. */
  readonly share: number;
  /** Null for work of the engine that is not an operator of the graph. */
  readonly gigaflopsPerSecond: number | null;
  readonly gigabytesPerSecond: number | null;
}

export interface OperatorTable {
  /** Operators, the most expensive first. */
  readonly rows: readonly OperatorRow[];
  /** The sum of the operators below the smallest share. */
  readonly rest: { readonly operators: number; readonly milliseconds: number; readonly share: number };
  readonly milliseconds: number;
}

/** Operators below a quarter of a percent of the time get no line. */
const SMALLEST_SHARE = 0.0025;

export interface OperatorTableOptions {
  /** Nodes of the graph. A node's time counts for the operator given here, whatever the engine ran for the node. */
  readonly nodes: readonly { readonly name: string; readonly op: string }[];
  /** Operations and bytes of each operator in one run of the graph. */
  readonly work: Readonly<Partial<Record<string, OperatorWork>>>;
  /** Smallest fraction of the time that gets a row; default 0.0025. */
  readonly smallestShare?: number;
}

/** Sums the times of a profile by operator, and computes the rates for the work that the graph requires. */
export function operatorTable(profile: readonly ProfileRow[], options: OperatorTableOptions): OperatorTable {
  const { nodes, work, smallestShare = SMALLEST_SHARE } = options;
  const operators = new Map(nodes.map(({ name, op }) => [name, op]));
  const sums = new Map<string, { calls: number; microseconds: number }>();
  for (const { node, op, calls, microseconds } of profile) {
    const key = operators.get(node) ?? `${op} (engine)`;
    const sum = sums.get(key) ?? { calls: 0, microseconds: 0 };
    sums.set(key, { calls: sum.calls + calls, microseconds: sum.microseconds + microseconds });
  }
  const total = [...sums.values()].reduce((sum, { microseconds }) => sum + microseconds, 0);
  const all = [...sums]
    .map(([op, { calls, microseconds }]): OperatorRow => {
      const own = work[op];
      // One operation per nanosecond is one giga-operation per second; a microsecond is 1000 nanoseconds.
      const rate = (amount: number | undefined): number | null =>
        amount === undefined || microseconds === 0 ? null : amount / microseconds / 1000;
      return {
        op,
        calls,
        milliseconds: microseconds / 1000,
        share: total === 0 ? 0 : microseconds / total,
        gigaflopsPerSecond: rate(own?.flops),
        gigabytesPerSecond: rate(own?.bytes),
      };
    })
    .sort((a, b) => b.milliseconds - a.milliseconds);
  const rows = all.filter(({ share }) => share >= smallestShare);
  const rest = all.slice(rows.length);
  return {
    rows,
    rest: {
      operators: rest.length,
      milliseconds: rest.reduce((sum, { milliseconds }) => sum + milliseconds, 0),
      share: rest.reduce((sum, { share }) => sum + share, 0),
    },
    milliseconds: total / 1000,
  };
}

const percent = (share: number): string => `${(share * 100).toFixed(2)} %`;
const rateText = (rate: number | null): string => (rate === null || rate === 0 ? "" : rate.toFixed(1));

export function formatOperatorTable({ rows, rest, milliseconds }: OperatorTable): string {
  const lines = rows.map((row) => [
    row.op,
    String(row.calls),
    row.milliseconds.toFixed(2),
    percent(row.share),
    rateText(row.gigaflopsPerSecond),
    rateText(row.gigabytesPerSecond),
  ]);
  if (rest.operators > 0) {
    lines.push([`${rest.operators} others`, "", rest.milliseconds.toFixed(2), percent(rest.share), "", ""]);
  }
  lines.push(["all", "", milliseconds.toFixed(2), percent(milliseconds === 0 ? 0 : 1), "", ""]);
  return textTable(["operator", "calls", "ms", "share", "GFLOP/s", "GB/s"], lines);
}
