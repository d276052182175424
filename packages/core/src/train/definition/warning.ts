import type { BackendWarning } from "@mp/graph/internal";

/**
 * A warning that does not stop training. Besides the engine's own types: `numerics` for numbers that a policy or a
 * scale rounds, `gradient` for parameters without a gradient, `data` for batches that are left out or do not count, for
 * means over different numbers of labels that are averaged with equal weights, for a `fit` with nothing to do or for
 * numbers that overflow in a half dtype, `state` for model state that never changes, `checkpoint` for a file saved with
 * other settings or callbacks.
 */
export interface TrainingWarning {
  readonly type: BackendWarning["type"] | "numerics" | "gradient" | "data" | "state" | "checkpoint";
  readonly message: string;
  /** JSON-serializable details for programs, such as the affected parameters. */
  readonly details?: Readonly<Record<string, unknown>>;
}
