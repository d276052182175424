/** What a dynamic loss scaler must do, step by step, written independently of the one under test. */
export interface ScalerOptions {
  readonly initialScale: number;
  readonly growthFactor?: number;
  readonly backoffFactor?: number;
  readonly growthInterval: number;
  readonly minScale?: number;
  readonly maxScale?: number;
  readonly hysteresis?: number;
  readonly refill?: "on-good-step" | "on-growth";
}

export interface ScaledStep {
  readonly scale: number;
  readonly applied: boolean;
  readonly retries: number;
}

export interface RetryRules {
  readonly onOverflow: "skip" | "retry";
  readonly maxRetries: number;
}

/** The state of the scaler between steps. */
interface Moment {
  readonly scale: number;
  readonly good: number;
  readonly tolerance: number;
}

/** The transition for one overflow or one good step. */
function afterStep(options: ScalerOptions, moment: Moment, finite: boolean): Moment {
  const {
    growthFactor = 2,
    backoffFactor = 0.5,
    minScale = 1,
    hysteresis = 1,
    refill = "on-good-step",
  } = options;
  const maxScale = options.maxScale ?? Math.max(2 ** 24, options.initialScale);
  if (!finite) {
    if (moment.tolerance > 1) return { scale: moment.scale, good: 0, tolerance: moment.tolerance - 1 };
    const lower = Math.max(moment.scale * backoffFactor, minScale);
    return { scale: lower, good: 0, tolerance: 1 };
  }
  if (moment.good + 1 === options.growthInterval) {
    return { scale: Math.min(moment.scale * growthFactor, maxScale), good: 0, tolerance: hysteresis };
  }
  return {
    scale: moment.scale,
    good: moment.good + 1,
    tolerance: refill === "on-good-step" ? hysteresis : moment.tolerance,
  };
}

/**
 * The trace of a run. `overflows` says whether a batch overflows at a scale, so that retries end when the scale is low
 * enough, the scaler no longer changes or the budget is spent.
 */
export function scalerTrace(
  options: ScalerOptions,
  { onOverflow, maxRetries }: RetryRules,
  batches: readonly ((scale: number) => boolean)[],
): { readonly steps: readonly ScaledStep[]; readonly next: number } {
  let moment: Moment = { scale: options.initialScale, good: 0, tolerance: options.hysteresis ?? 1 };
  const steps: ScaledStep[] = [];
  for (const overflows of batches) {
    for (let retries = 0; ; retries++) {
      const { scale } = moment;
      const finite = !overflows(scale);
      const next = afterStep(options, moment, finite);
      const rests =
        next.scale === moment.scale && next.good === moment.good && next.tolerance === moment.tolerance;
      moment = next;
      if (!finite && onOverflow === "retry" && !rests && retries < maxRetries) continue;
      steps.push({ scale, applied: finite, retries });
      break;
    }
  }
  return { steps, next: moment.scale };
}
