import type { LossContext, Tensor, Traced } from "@mp/core";
import { argMax, cast, equal, reduceMean, relu, reshape } from "@mp/core/ops";
import { convolution, dense, sequential, softmaxCrossEntropy } from "@mp/nn";
import { SIDE } from "./digits/paint.js";

const CHANNELS = 16;
/** Values after two convolutions of stride 2, which leave a quarter of each side. */
const LEFT = CHANNELS * (SIDE / 4) ** 2;

const flatten = (x: Tensor): Tensor => reshape(x, [-1, LEFT]);

/** [images, 1, SIDE, SIDE] to [images, 10]: two convolutions and two dense layers, 27,562 parameters. */
export const model = sequential(
  convolution(1, 8, 3, { stride: 2, padding: "same" }),
  relu,
  convolution(8, CHANNELS, 3, { stride: 2, padding: "same" }),
  relu,
  flatten,
  dense(LEFT, 64),
  relu,
  dense(64, 10),
);

export type Parameters = ReturnType<typeof model.init>;
/** Tensors that the loss is traced with. */
export type Batch = { readonly x: Tensor; readonly y: Tensor };

/** Cross-entropy loss, with the fraction of correctly classified images as a metric. */
export function loss(
  parameters: Traced<Parameters>,
  { x, y }: Batch,
  context?: LossContext<unknown>,
): { readonly loss: Tensor; readonly metrics: { readonly accuracy: Tensor } } {
  const logits = model.apply(parameters, x, context);
  const right = equal(argMax(logits, { axis: 1 }), y);
  return {
    loss: softmaxCrossEntropy(logits, y),
    metrics: { accuracy: reduceMean(cast(right, "f32")) },
  };
}
