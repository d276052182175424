/** A step in a figure: a result of `training.step`, or one that `fit` passes to `onStep`. */
export interface HistoryStep {
  /** Number of the step in the run, from 1. Default: the position in the history. */
  readonly step?: number;
  /** The unscaled loss; not finite if the forward pass was not. */
  readonly loss: number;
  readonly scale: number;
  /** False if the step was skipped. */
  readonly applied: boolean;
  /** Norm of all gradients together, unscaled, before clipping. */
  readonly gradNorm?: number;
  /** The total weight of the step's losses, such as the number of labels that counted, if they have one. */
  readonly weight?: number;
}
