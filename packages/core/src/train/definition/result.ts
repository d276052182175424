/** Counts of one tensor's gradients and updates in a step. */
export interface TensorUpdates {
  /** Path of the parameter. */
  readonly parameter: string;
  /** The number of gradients that are not 0. */
  readonly gradients: number;
  /** The number of updates that are not 0. */
  readonly updates: number;
  /** The number of nonzero updates that leave the master weight unchanged. */
  readonly lost: number;
}

/** The result of a step: a few numbers and whether it was applied. */
export interface StepResult<K extends string = string> {
  /** Mean over the microbatches, by weight; not finite if the forward pass is not, NaN if the total weight is 0. */
  readonly loss: number;
  /** If false, parameters, optimizer and model state are unchanged. */
  readonly applied: boolean;
  /**
   * Why a step was not applied: something was not finite, or the total weight was 0. A step of weight 0 changes no loss
   * scale and does not count towards `maxConsecutiveSkips`. Undefined if the step was applied.
   */
  readonly reason?: "not finite" | "no weight";
  /** Total weight of the losses, if the loss returns one; not finite if the forward pass is not. */
  readonly weight?: number;
  /** Loss scale of this step. */
  readonly scale: number;
  /**
   * Norm of all unscaled gradients, before clipping; infinite beyond 1.8e19, whose square f32 does not hold. Dividing
   * by the largest gradient first would avoid this, but needs two more passes and takes five times as long.
   */
  readonly gradNorm: number;
  /**
   * Learning rates by group of parameters; `default` for an optimizer without groups. Empty for a custom optimizer
   * without `learningRates`.
   */
  readonly rates: Readonly<Record<string, number>>;
  /** The loss's `metrics` as means over the microbatches, by the loss's weight. */
  readonly metrics: Readonly<Record<K, number>>;
  /** Number of times this batch overflowed and was run again. */
  readonly retries: number;
  /** Counts of gradients and updates by tensor, in the steps that `checkUpdates` selects. */
  readonly updates?: readonly TensorUpdates[];
}

export interface Evaluation<K extends string = string> {
  /** The unscaled loss; not finite if the forward pass is not. */
  readonly loss: number;
  /** The loss's `weight`, if it returns one. */
  readonly weight?: number;
  /** The loss's `metrics`. */
  readonly metrics: Readonly<Record<K, number>>;
}

export interface Counters {
  /** Applied steps, which schedules and Adam count. */
  readonly applied: number;
  /** Steps, applied or skipped. */
  readonly iteration: number;
  /** Iterations that were not applied. */
  readonly skipped: number;
  /** The loss scale of the next step. */
  readonly scale: number;
}
