import { momentum, tensor } from "@mp/core";
import { reduceMean, relu } from "@mp/core/ops";
import { dense, residual, sequential, softmaxCrossEntropy } from "@mp/nn";
import { drawImages, drawUnit, type UnitPlan, unit } from "./convolution-unit.js";
import { tokenValues } from "./hash-values.js";
import { initialValues } from "./initial-values.js";
import { defineStatefulWorkload, type Workload } from "./workload.js";

export interface ResidualNetSizes {
  readonly batch: number;
  readonly size: number;
  readonly widths: readonly number[];
  /** Blocks of each width. */
  readonly blocks: number;
  readonly classes: number;
}

export const RESIDUAL_NET_SIZES: ResidualNetSizes = {
  batch: 64,
  size: 32,
  widths: [16, 32, 64],
  blocks: 3,
  classes: 10,
};

/** The plans of a block: two units in the body, and one in the shortcut where the width changes. */
function planBlocks({ widths, blocks }: ResidualNetSizes): readonly (readonly UnitPlan[])[] {
  return widths.flatMap((outputs, stage) =>
    Array.from({ length: blocks }, (_, index) => {
      const isFirst = index === 0 && stage > 0;
      const [inputs, stride] = isFirst ? [widths[stage - 1] ?? 0, 2] : [outputs, 1];
      const body: readonly UnitPlan[] = [
        { taps: 3, inputs, outputs, stride },
        { taps: 3, inputs: outputs, outputs, stride: 1 },
      ];
      return isFirst ? [...body, { taps: 1, inputs, outputs, stride }] : body;
    }),
  );
}

/** W3: ResNet-20 (He et al., arXiv 1512.03385), cross entropy, SGD with momentum 0.9 at rate 0.05. */
export function residualNet(sizes: ResidualNetSizes = RESIDUAL_NET_SIZES): Workload {
  const { batch, size, widths, classes } = sizes;
  const draw = initialValues();
  const [narrow = 1, wide = 1] = [widths[0], widths.at(-1)];
  const stem: UnitPlan = { taps: 3, inputs: 3, outputs: narrow, stride: 1 };
  const plans = planBlocks(sizes);
  const block = ([first, second, beside]: readonly UnitPlan[]) => {
    const body = sequential(unit(first as UnitPlan), relu, unit(second as UnitPlan));
    return beside === undefined ? residual(body) : residual(body, unit(beside));
  };
  const model = sequential(
    unit(stem),
    relu,
    ...plans.flatMap((plan) => [block(plan), relu]),
    (x) => reduceMean(x, { axes: [2, 3] }),
    dense(wide, classes),
  );
  const limit = Math.sqrt(6 / (wide + classes));
  const drawn = [
    drawUnit(draw, stem),
    {},
    ...plans.flatMap((plan) => {
      const [first, second, beside] = plan.map((each) => drawUnit(draw, each));
      return [{ body: [first, {}, second], shortcut: beside ?? {} }, {}];
    }),
    {},
    { kernel: draw.uniform([wide, classes], limit), bias: draw.zeros([classes]) },
  ];
  const images = drawImages(batch, size);
  const labels = tensor(tokenValues(2, batch, classes), [batch]);
  return defineStatefulWorkload({
    title: `ResNet-${6 * sizes.blocks + 2} on images of ${size} by ${size}, batch ${batch}`,
    params: drawn as unknown as ReturnType<typeof model.init>,
    modelState: model.initState(),
    batch: { images, labels },
    loss: (weights, data, context) => {
      const [scores, modelState] = model.apply(weights, data.images, context);
      return { loss: softmaxCrossEntropy(scores, data.labels), modelState };
    },
    optimizer: momentum({ learningRate: 0.05, momentum: 0.9 }),
    matrixFlops: flopsOf(sizes, [stem, ...plans.flat()]),
  });
}

/** Three passes for every product, except the gradient with respect to the images. */
function flopsOf({ batch, size, widths, classes }: ResidualNetSizes, units: readonly UnitPlan[]): number {
  const forward = units.map(({ taps, inputs, outputs }) => {
    const side = size >> widths.indexOf(outputs);
    return 2 * batch * side * side * taps * taps * inputs * outputs;
  });
  const all = forward.reduce((a, b) => a + b, 2 * batch * (widths.at(-1) ?? 0) * classes);
  return 3 * all - (forward[0] ?? 0);
}
