import { remat, type Tensor, type Traced } from "@mp/core";
import { relu } from "@mp/core/ops";
import { dense, sequential, softmaxCrossEntropy } from "@mp/nn";

export type TracedBatch = { readonly x: Tensor; readonly y: Tensor };

interface TaskOptions {
  readonly hidden: number;
  readonly checkpointing: boolean;
}

/** A network with one hidden layer that says whether the coordinates of a point have the same sign. */
export function pointTask({ hidden, checkpointing }: TaskOptions) {
  const { init, apply } = sequential(dense(2, hidden), relu, dense(hidden, 2));
  type Parameters = Traced<ReturnType<typeof init>>;
  const logits = (weights: Parameters, x: Tensor): Tensor =>
    (checkpointing ? remat(apply) : apply)(weights, x);
  const loss = (weights: Parameters, { x, y }: TracedBatch): Tensor =>
    softmaxCrossEntropy(logits(weights, x), y);
  return { init, logits, loss };
}
