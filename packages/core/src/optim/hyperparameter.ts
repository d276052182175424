import { type Check, invalid, shown } from "@mp/graph/internal";

/** Bounds of a hyperparameter; without `below`, any finite number of at least `from`. */
interface Range {
  readonly from: number;
  /** True if `from` itself is rejected. */
  readonly open?: boolean;
  readonly below?: number;
}

/** Rejects a hyperparameter that is out of range or infinite when rounded to f32, its dtype in the graph. */
export function checkHyperparameter(what: string, value: number, { from, open, below }: Range): void {
  const rounded = typeof value === "number" ? Math.fround(value) : Number.NaN;
  const isAbove = open === true ? rounded > from : rounded >= from;
  if (isAbove && Number.isFinite(rounded) && (below === undefined || rounded < below)) return;
  const range = `${open === true ? "above" : "at least"} ${from}${below === undefined ? "" : ` and below ${below}`}`;
  throw invalid(`${what} must be ${range} in f32, got ${shown(value)}`);
}

export const hyperparameter =
  (range: Range): Check =>
  (what, value) =>
    checkHyperparameter(what, value as number, range);

/** Checks the factor of a moving average: at least 0 and below 1. */
export const averageFactor: Check = hyperparameter({ from: 0, below: 1 });
