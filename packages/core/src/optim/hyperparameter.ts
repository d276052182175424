import { MpError } from "../errors.js";
import { shown } from "../shown.js";

/** Bounds that a hyperparameter keeps; one without `below` is any finite number from `from` on. */
interface Range {
  readonly from: number;
  /** True: `from` itself is refused. */
  readonly open?: boolean;
  readonly below?: number;
}

/** Hyperparameters are f32 in the graph: what is infinite or, where 0 is refused, zero there is refused here. */
export function checkHyperparameter(what: string, value: number, { from, open, below }: Range): void {
  const rounded = typeof value === "number" ? Math.fround(value) : Number.NaN;
  const isAbove = open === true ? rounded > from : rounded >= from;
  if (isAbove && Number.isFinite(rounded) && (below === undefined || rounded < below)) return;
  const range = `${open === true ? "above" : "at least"} ${from}${below === undefined ? "" : ` and below ${below}`}`;
  throw new MpError("MP_INVALID_ARGUMENT", `${what} is ${range} in f32, got ${shown(value)}`);
}
