import { checks, withDefault } from "@mp/core/internal";
import { invalid } from "../invalid.js";

/** Which number of the run decides, and what better means. */
export interface MonitorOptions {
  /**
   * The number: `validation/loss` (default), `validation/NAME` of any metric of the validation; or a number of the steps
   * (`loss`, `gradNorm`, `NAME`), whose mean over the applied steps of a pass decides. With objectives their names come
   * first: `validation/d/loss`.
   */
  readonly monitor?: string;
  /** Whether smaller (`min`) or larger (`max`) is better. Default `min` for a loss; of any other number it must be said. */
  readonly mode?: "min" | "max";
  /** By how much a value must be better to count, in the number's unit; default 0. */
  readonly minDelta?: number;
  /** Names the callback's state in checkpoints, where two callbacks of a kind have the same monitor. */
  readonly name?: string;
}

/** The best value so far, and where it was seen. */
export interface Best {
  readonly value: number;
  /** Iterations since the start of the run. */
  readonly step: number;
  /** Passes before it. */
  readonly epoch: number;
}

const least = (low: number): checks.Check =>
  checks.claim(`a finite number ≥ ${low}`, (value) => Number.isFinite(value) && (value as number) >= low);

export const DELTA: checks.Check = least(0);

/** The table of `MonitorOptions`. */
export const MONITOR: {
  readonly monitor: ReturnType<typeof withDefault<string>>;
  readonly mode: checks.Check;
  readonly minDelta: ReturnType<typeof withDefault<number>>;
  readonly name: checks.Check;
} = {
  monitor: withDefault("validation/loss", checks.text),
  mode: checks.optional(checks.oneOf("min", "max")),
  minDelta: withDefault(0, DELTA),
  name: checks.optional(checks.text),
};

/** Options that decide which values are better, with their defaults. */
export interface ReadMonitor {
  readonly monitor: string;
  readonly mode?: "min" | "max" | undefined;
  readonly minDelta: number;
}

/** Whether a value is better than the best so far. One that is not finite never is. */
export type IsBetter = (value: number, best: number | undefined) => boolean;

/** @throws MP_INVALID_ARGUMENT for a number of which it is unknown whether more is better */
export function betterBy(owner: string, { monitor, mode, minDelta }: ReadMonitor): IsBetter {
  if (mode === undefined && !/(^|\/)loss$/.test(monitor)) {
    throw invalid(
      `${owner}: mode is needed for ${monitor}: "max" if a larger one is better, "min" if a smaller one is`,
    );
  }
  const sign = mode === "max" ? -1 : 1;
  return (value, best) =>
    Number.isFinite(value) && (best === undefined || sign * value < sign * best - minDelta);
}
