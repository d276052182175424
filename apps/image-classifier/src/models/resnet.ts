/**
 * The residual networks of He et al., arXiv 1512.03385: those for CIFAR with basic blocks, and ResNet-50's bottlenecks.
 */
import type { Tensor } from "@mp/core";
import { relu } from "@mp/core/ops";
import { asModel, batchNorm, convolution, dense, type Model, residual, sequential } from "@mp/nn";
import { after, beforeMean, block, type ModelOptions, meanPool } from "./parts.js";

interface Shape {
  readonly inputs: number;
  readonly outputs: number;
  readonly stride: number;
  /** Function for both branches before they are added. */
  readonly atEnd: (x: Tensor) => Tensor;
}

/** A convolution without bias, since the following normalization has one. */
const convNorm = (inputs: number, outputs: number, size: number, stride = 1) =>
  [convolution(inputs, outputs, size, { stride, padding: "same", bias: false }), batchNorm(outputs)] as const;

const lastConvNorm = (inputs: number, size: number, { outputs, stride, atEnd }: Shape) =>
  [
    convolution(inputs, outputs, size, { stride, padding: "same", bias: false }),
    after(atEnd, batchNorm(outputs)),
  ] as const;

/** The input itself, or its projection where the block changes the shape. */
const shortcut = (shape: Shape) =>
  shape.inputs === shape.outputs && shape.stride === 1
    ? shape.atEnd
    : sequential(...lastConvNorm(shape.inputs, 1, shape));

function basicBlock(shape: Shape) {
  const { inputs, outputs, stride } = shape;
  const last = lastConvNorm(outputs, 3, { ...shape, stride: 1 });
  const body = sequential(...convNorm(inputs, outputs, 3, stride), relu, ...last);
  return sequential(residual(body, shortcut(shape)), relu);
}

/** Three convolutions. The middle one has a quarter of the channels, and the stride, as in later work. */
function bottleneck(shape: Shape) {
  const { inputs, outputs, stride } = shape;
  const inner = outputs / 4;
  const body = sequential(
    ...convNorm(inputs, inner, 1),
    relu,
    ...convNorm(inner, inner, 3, stride),
    relu,
    ...lastConvNorm(inner, 1, { ...shape, stride: 1 }),
  );
  return sequential(residual(body, shortcut(shape)), relu);
}

/** A stem, stages of blocks, and a classifier; the first block of every stage but the first halves the image's side. */
function resNet(
  blockOf: (shape: Shape) => ReturnType<typeof basicBlock> | ReturnType<typeof bottleneck>,
  stages: readonly { readonly count: number; readonly outputs: number }[],
  options: ModelOptions,
): Model {
  const { channels, classes, width } = options;
  let inputs = width;
  const blocks = stages.flatMap(({ count, outputs }, stage) =>
    Array.from({ length: count }, (_, index) => {
      const isLast = stage === stages.length - 1 && index === count - 1;
      const stride = index === 0 && stage > 0 ? 2 : 1;
      const atEnd = isLast ? beforeMean(options) : (x: Tensor) => x;
      const made = asModel(blockOf({ inputs, outputs, stride, atEnd }));
      inputs = outputs;
      return block(made, options);
    }),
  );
  const stem = sequential(...convNorm(channels, width, 3), relu);
  return asModel(sequential(stem, ...blocks, meanPool(options), dense(inputs, classes)));
}

/** 6n + 2 layers: three stages of n blocks with 1, 2 and 4 times the width; n is 3 for ResNet-20 and 5 for ResNet-32. */
export function cifarResNet(n: number, options: ModelOptions): Model {
  const stages = [1, 2, 4].map((factor) => ({ count: n, outputs: factor * options.width }));
  return resNet(basicBlock, stages, options);
}

/** ResNet-50's blocks, 3, 4, 6 and 3 bottlenecks, after a small stem for images of CIFAR's size. */
export function resNet50(options: ModelOptions): Model {
  const stages = [3, 4, 6, 3].map((count, stage) => ({ count, outputs: 4 * options.width * 2 ** stage }));
  return resNet(bottleneck, stages, options);
}
