/** What a step tells: a few numbers, copied out with the flag that says whether it was applied. */
export interface StepResult<K extends string = string> {
  /** Mean over the microbatches; not finite when the forward pass was not. */
  readonly loss: number;
  /** False: parameters, optimizer and model state are what they were. */
  readonly applied: boolean;
  /** The loss scale of this step. */
  readonly scale: number;
  /**
   * Norm of all unscaled gradients, before clipping; infinite beyond 1.8e19, whose square is more than f32 holds. A norm
   * scaled by the largest gradient would reach further, and take five times as long: another pass for the largest, and
   * one for the quotients.
   */
  readonly gradNorm: number;
  /** What the loss returned as `metrics`, means over the microbatches. */
  readonly metrics: Readonly<Record<K, number>>;
  /** How often this batch overflowed and was run again. */
  readonly retries: number;
}

export interface Evaluation<K extends string = string> {
  /** The loss as the loss function gives it, unscaled; not finite when the forward pass is not. */
  readonly loss: number;
  /** What the loss returned as `metrics`. */
  readonly metrics: Readonly<Record<K, number>>;
}

export interface Counters {
  /** Applied steps: what schedules and Adam count. */
  readonly applied: number;
  /** Applied and skipped ones. */
  readonly iteration: number;
  /** Iterations that were not applied. */
  readonly skipped: number;
  /** The loss scale of the next step. */
  readonly scale: number;
}
