import type { RunResult } from "@mp/cli";
import type { Fed, HostTensor, LossContext, Tensor, Traced, Trainer, Tree } from "@mp/core";
import type { Dataset } from "@mp/data";

/** One training task: parameters, a loss, batches, and the metric that a trained model is judged by. */
export interface Task<P extends Tree<HostTensor>, B> {
  /** Initial parameters. */
  readonly params: P;
  readonly loss: (parameters: Traced<P>, batch: B, context: LossContext) => Tensor;
  /** Endless batches. */
  readonly batches: Dataset<Fed<B>>;
  /** A batch of zeros with that many sequences, since memory depends on shapes alone. */
  readonly sample: (batch: number) => Fed<B>;
  readonly judge: (
    training: Trainer<P, B, Readonly<Record<never, never>>, never>,
  ) => Promise<RunResult["metric"]>;
}
