/**
 * A small network after Simonyan and Zisserman, arXiv 1409.1556: pairs of normalized 3 by 3 convolutions, with pooling.
 */
import type { Tensor } from "@mp/core";
import { maxPool, relu } from "@mp/core/ops";
import { asModel, batchNorm, convolution, dense, dropout, type Model, sequential } from "@mp/nn";
import { block, flatten, type ModelOptions } from "./parts.js";

const STAGES = 3;
const halve = (x: Tensor): Tensor => maxPool(x, 2);

const stage = (inputs: number, outputs: number) =>
  sequential(
    convolution(inputs, outputs, 3, { padding: "same", bias: false }),
    batchNorm(outputs),
    relu,
    convolution(outputs, outputs, 3, { padding: "same", bias: false }),
    batchNorm(outputs),
    relu,
    halve,
  );

export function vgg(options: ModelOptions): Model {
  const { channels, classes, size, width } = options;
  const stages = Array.from({ length: STAGES }, (_, index) => {
    const outputs = width * 2 ** index;
    return block(stage(index === 0 ? channels : outputs / 2, outputs), options);
  });
  const side = Math.floor(size / 2 ** STAGES);
  const hidden = 16 * width;
  return asModel(
    sequential(
      ...stages,
      flatten,
      dense(4 * width * side * side, hidden),
      relu,
      dropout(0.3),
      dense(hidden, classes),
    ),
  );
}
