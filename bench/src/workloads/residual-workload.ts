/** The workloads of the residual nets: a stem, blocks of units with shortcuts, the mean of each channel, a classifier. */
import { momentum, type Tensor, tensor } from "@mp/core";
import { reduceMean, relu } from "@mp/core/ops";
import { dense, residual, sequential, softmaxCrossEntropy } from "@mp/nn";
import { drawImages, drawUnit, type UnitPlan, unit } from "./convolution-unit.js";
import { tokenValues } from "./hash-values.js";
import { initialValues } from "./initial-values.js";
import { defineStatefulWorkload, type Workload } from "./workload.js";

/** A unit, and the side of its results in pixels. */
export interface PlacedUnit extends UnitPlan {
  readonly side: number;
}

/** Units of a block: one after the other in the body, and one in the shortcut where the block changes the shape. */
export interface BlockPlan {
  readonly body: readonly PlacedUnit[];
  readonly shortcut: PlacedUnit | undefined;
}

export interface ResidualPlan {
  readonly title: string;
  readonly batch: number;
  /** Side of the images, in pixels. */
  readonly size: number;
  readonly stem: PlacedUnit;
  /** Functions between the stem and the blocks. */
  readonly pools: readonly ((x: Tensor) => Tensor)[];
  readonly blocks: readonly BlockPlan[];
  /** Channels of the last block's result. */
  readonly features: number;
  readonly classes: number;
}

/** Cross entropy, SGD with momentum 0.9 at rate 0.05. */
export function residualWorkload(plan: ResidualPlan): Workload {
  const { title, batch, size, stem, pools, blocks, features, classes } = plan;
  const draw = initialValues();
  const block = ({ body, shortcut }: BlockPlan) => {
    const [first, ...rest] = body.map(unit);
    const layers = sequential(first as ReturnType<typeof unit>, ...rest.flatMap((layer) => [relu, layer]));
    return shortcut === undefined ? residual(layers) : residual(layers, unit(shortcut));
  };
  const model = sequential(
    unit(stem),
    relu,
    ...pools,
    ...blocks.flatMap((each) => [block(each), relu]),
    (x) => reduceMean(x, { axes: [2, 3] }),
    dense(features, classes),
  );
  const params = [
    drawUnit(draw, stem),
    {},
    ...pools.map(() => ({})),
    ...blocks.flatMap(({ body, shortcut }) => {
      const [first, ...rest] = body.map((each) => drawUnit(draw, each));
      const own = { body: [first, ...rest.flatMap((values) => [{}, values])] };
      return [{ ...own, shortcut: shortcut === undefined ? {} : drawUnit(draw, shortcut) }, {}];
    }),
    {},
    {
      kernel: draw.uniform([features, classes], Math.sqrt(6 / (features + classes))),
      bias: draw.zeros([classes]),
    },
  ];
  const units = [stem, ...blocks.flatMap(({ body, shortcut }) => (shortcut ? [...body, shortcut] : body))];
  return defineStatefulWorkload({
    title,
    params: params as unknown as ReturnType<typeof model.init>,
    modelState: model.initState(),
    batch: { images: drawImages(batch, size), labels: tensor(tokenValues(2, batch, classes), [batch]) },
    loss: (weights, { images, labels }, context) => {
      const [scores, modelState] = model.apply(weights, images, context);
      return { loss: softmaxCrossEntropy(scores, labels), modelState };
    },
    optimizer: momentum({ learningRate: 0.05, momentum: 0.9 }),
    matrixFlops: trainingFlops(batch, units, 2 * batch * features * classes),
  });
}

/** Operations of every product and its two gradients, without the gradient with respect to the images. */
function trainingFlops(batch: number, units: readonly PlacedUnit[], last: number): number {
  const forward = units.map(
    ({ taps, inputs, outputs, side }) => 2 * batch * side * side * taps * taps * inputs * outputs,
  );
  return 3 * forward.reduce((a, b) => a + b, last) - (forward[0] ?? 0);
}
