/** The result of a step: a few numbers and whether it was applied. */
export interface StepResult<K extends string = string> {
  /** Mean over the microbatches; not finite if the forward pass is not. */
  readonly loss: number;
  /** If false, parameters, optimizer and model state are unchanged. */
  readonly applied: boolean;
  /** Loss scale of this step. */
  readonly scale: number;
  /**
   * Norm of all unscaled gradients, before clipping; infinite beyond 1.8e19, whose square f32 does not hold. Scaling
   * by the largest gradient would avoid this but take five times as long: one pass for the largest, one for the
   * quotients.
   */
  readonly gradNorm: number;
  /**
   * Learning rates by group of parameters; `default` for an optimizer without groups. Empty for a custom optimizer
   * without `learningRates`.
   */
  readonly rates: Readonly<Record<string, number>>;
  /** The loss's `metrics`, means over the microbatches. */
  readonly metrics: Readonly<Record<K, number>>;
  /** Number of times this batch overflowed and was run again. */
  readonly retries: number;
}

export interface Evaluation<K extends string = string> {
  /** The unscaled loss; not finite if the forward pass is not. */
  readonly loss: number;
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
