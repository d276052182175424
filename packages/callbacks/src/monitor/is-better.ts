import { checks, invalid, withDefault } from "@mp/graph/internal";

/** Options of callbacks that follow a number of the run. */
export interface MonitorOptions {
  /**
   * The number to follow: `validation/loss` (default); another metric of the validation, `validation/NAME`; or a
   * number of the steps (`loss`, `gradNorm`, `NAME`), averaged over the applied steps of a pass. With objectives
   * the objective's name comes first: `d/loss`, `validation/d/loss`.
   */
  readonly monitor?: string;
  /** Whether smaller (`min`) or larger (`max`) is better. Default `min` for a loss, also `NAME_loss`; else needed. */
  readonly mode?: "min" | "max";
  /** Smallest improvement that counts, in the number's unit; default 0. */
  readonly minDelta?: number;
  /** Name of the callback's state in checkpoints; needed if two callbacks of a kind have the same monitor. */
  readonly name?: string;
}

/** The best value so far, and when it was reached. */
export interface Best {
  readonly value: number;
  /** Iterations since the start of the run. */
  readonly step: number;
  /** Passes before that one: 4 in the pass that `progress` calls 5, as Keras counts too. */
  readonly epoch: number;
}

export const DELTA: checks.Check = checks.claim(
  "a finite number ≥ 0",
  (value) => Number.isFinite(value) && (value as number) >= 0,
);

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

/** Options that decide which values are better, with defaults filled in. */
export interface ReadMonitor {
  readonly monitor: string;
  readonly mode?: "min" | "max" | undefined;
  readonly minDelta: number;
}

/** Whether a value is better than the best so far. NaN and infinities never are. */
export type IsBetter = (value: number, best: number | undefined) => boolean;

/** Makes the comparison by `mode`. @throws MP_INVALID_ARGUMENT without `mode`, unless the monitor is a loss */
export function betterBy(owner: string, { monitor, mode, minDelta }: ReadMonitor): IsBetter {
  if (mode === undefined && !/(^|[/_])loss$/.test(monitor)) {
    throw invalid(
      `${owner}: mode is needed for ${monitor}: "max" if a larger one is better, "min" if a smaller one is`,
    );
  }
  const sign = mode === "max" ? -1 : 1;
  return (value, best) =>
    Number.isFinite(value) && (best === undefined || sign * value < sign * best - minDelta);
}
