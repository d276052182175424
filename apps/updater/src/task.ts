import { type Key, remat, type Tensor, type Traced } from "@mp/core";
import { relu } from "@mp/core/ops";
import { dense, sequential, softmaxCrossEntropy } from "@mp/nn";

export type TracedBatch = { readonly x: Tensor; readonly y: Tensor };

/** A network with one hidden layer that says whether the coordinates of a point have the same sign. */
export function pointTask({
  hidden,
  checkpointing,
}: {
  readonly hidden: number;
  readonly checkpointing: boolean;
}) {
  const model = sequential(dense(2, hidden), relu, dense(hidden, 2));
  const init = (seed: Key) => model.init(seed);
  type Parameters = Traced<ReturnType<typeof init>>;
  const logits = (weights: Parameters, x: Tensor): Tensor =>
    (checkpointing ? remat(model.apply) : model.apply)(weights, x);
  return {
    init,
    logits,
    loss: (weights: Parameters, { x, y }: TracedBatch): Tensor => softmaxCrossEntropy(logits(weights, x), y),
  };
}
