import { momentum, tensor } from "@mp/core";
import { maxPool, reduceMean, relu } from "@mp/core/ops";
import { dense, residual, sequential, softmaxCrossEntropy } from "@mp/nn";
import { drawImages, drawUnit, type UnitPlan, unit } from "./convolution-unit.js";
import { tokenValues } from "./hash-values.js";
import { initialValues } from "./initial-values.js";
import { defineStatefulWorkload, type Workload } from "./workload.js";

export interface BottleneckNetSizes {
  readonly batch: number;
  /** Side of the images, in pixels: a multiple of 32. */
  readonly size: number;
  /** Channels of the first stage; each further one doubles it. */
  readonly width: number;
  /** Blocks of each stage. */
  readonly blocks: readonly number[];
  readonly classes: number;
}

export const BOTTLENECK_NET_SIZES: BottleneckNetSizes = {
  batch: 64,
  size: 224,
  width: 64,
  blocks: [3, 4, 6, 3],
  classes: 1000,
};

/** A block's results have this many times its width. */
const EXPANSION = 4;

/** A unit, and the side of its results in pixels. */
interface Placed extends UnitPlan {
  readonly side: number;
}

/** Three units in the body, and one in the shortcut of a stage's first block. */
function planBlocks({ size, width, blocks }: BottleneckNetSizes): readonly (readonly Placed[])[] {
  return blocks.flatMap((count, stage) =>
    Array.from({ length: count }, (_, index): readonly Placed[] => {
      const [own, isFirst] = [width * 2 ** stage, index === 0];
      const wide = own * EXPANSION;
      const inputs = !isFirst ? wide : stage === 0 ? width : wide / 2;
      const stride = isFirst && stage > 0 ? 2 : 1;
      const side = size / 4 / 2 ** stage;
      const body: readonly Placed[] = [
        { taps: 1, inputs, outputs: own, stride: 1, side: side * stride },
        { taps: 3, inputs: own, outputs: own, stride, side },
        { taps: 1, inputs: own, outputs: wide, stride: 1, side },
      ];
      return isFirst ? [...body, { taps: 1, inputs, outputs: wide, stride, side }] : body;
    }),
  );
}

/**
 * W5: ResNet-50 (He et al., arXiv 1512.03385; the strides in the middle convolution, as in torchvision), cross entropy,
 * SGD with momentum 0.9 at rate 0.05.
 */
export function bottleneckNet(sizes: BottleneckNetSizes = BOTTLENECK_NET_SIZES): Workload {
  const { batch, size, width, blocks, classes } = sizes;
  const draw = initialValues();
  const stem: Placed = { taps: 7, inputs: 3, outputs: width, stride: 2, side: size / 2 };
  const plans = planBlocks(sizes);
  const wide = width * 2 ** (blocks.length - 1) * EXPANSION;
  const block = ([first, second, third, beside]: readonly UnitPlan[]) => {
    const body = sequential(
      unit(first as UnitPlan),
      relu,
      unit(second as UnitPlan),
      relu,
      unit(third as UnitPlan),
    );
    return beside === undefined ? residual(body) : residual(body, unit(beside));
  };
  const model = sequential(
    unit(stem),
    relu,
    (x) => maxPool(x, 3, { strides: 2, pads: 1 }),
    ...plans.flatMap((plan) => [block(plan), relu]),
    (x) => reduceMean(x, { axes: [2, 3] }),
    dense(wide, classes),
  );
  const limit = Math.sqrt(6 / (wide + classes));
  const drawn = [
    drawUnit(draw, stem),
    {},
    {},
    ...plans.flatMap((plan) => {
      const [first, second, third, beside] = plan.map((each) => drawUnit(draw, each));
      return [{ body: [first, {}, second, {}, third], shortcut: beside ?? {} }, {}];
    }),
    {},
    { kernel: draw.uniform([wide, classes], limit), bias: draw.zeros([classes]) },
  ];
  const labels = tensor(tokenValues(2, batch, classes), [batch]);
  const depth = 2 + 3 * blocks.reduce((sum, count) => sum + count, 0);
  return defineStatefulWorkload({
    title: `ResNet-${depth} of width ${width} on images of ${size} by ${size}, batch ${batch}`,
    params: drawn as unknown as ReturnType<typeof model.init>,
    modelState: model.initState(),
    batch: { images: drawImages(batch, size), labels },
    loss: (weights, data, context) => {
      const [scores, modelState] = model.apply(weights, data.images, context);
      return { loss: softmaxCrossEntropy(scores, data.labels), modelState };
    },
    optimizer: momentum({ learningRate: 0.05, momentum: 0.9 }),
    matrixFlops: flopsOf(batch, [stem, ...plans.flat()], 2 * batch * wide * classes),
  });
}

/** Three passes for every product, except the gradient with respect to the images. */
function flopsOf(batch: number, units: readonly Placed[], last: number): number {
  const forward = units.map(
    ({ taps, inputs, outputs, side }) => 2 * batch * side * side * taps * taps * inputs * outputs,
  );
  return 3 * forward.reduce((a, b) => a + b, last) - (forward[0] ?? 0);
}
