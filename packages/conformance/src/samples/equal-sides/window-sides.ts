/** Convolutions, pools and batch normalization whose batch, channels and spatial sizes are one number. */
import type { DType, Shape } from "@mp/core";
import type { OpOf, PoolingWindow } from "@mp/core/graph";
import { randomData } from "../../host-data.js";
import type { RandomSource } from "../../random-source.js";
import { statisticsOf } from "../batch-normalization-samples.js";
import { type ConvolutionOp, type Convolved, convolutionSample } from "../convolution-samples.js";
import type { GeneratedRow, GeneratedRows } from "../generated-row.js";
import { positives, sample } from "../op-sample.js";
import { gradientSample } from "../pooling-samples.js";
import { labelled, terms } from "../tails/tail-data.js";
import { cube } from "./side-data.js";

/** Windows that differ along one axis only: each number once at each place. */
function oneAtATime(rank: number): readonly Pick<Convolved, "strides" | "pads" | "dilations">[] {
  const with2 = (count: number, at: number, low: number) =>
    cube(low, count).map((one, place) => (place === at ? 2 : one));
  const axes = Array.from({ length: rank }, (_, axis) => axis);
  return [
    {},
    ...axes.map((axis) => ({ strides: with2(rank, axis, 1), pads: cube(1, 2 * rank) })),
    ...axes.map((axis) => ({ dilations: with2(rank, axis, 1), pads: cube(2, 2 * rank) })),
    ...cube(0, 2 * rank).map((_, end) => ({ pads: with2(2 * rank, end, 0) })),
  ];
}

const CONVOLVED: readonly Convolved[] = [
  ...oneAtATime(2).flatMap((window) => [
    { x: cube(3, 4), w: cube(3, 4), ...window },
    { x: cube(4, 4), w: [4, 4, 2, 2], ...window },
  ]),
  ...oneAtATime(1).map((window) => ({ x: cube(3, 3), w: cube(3, 3), ...window })),
  ...oneAtATime(2).map((window) => ({ x: cube(3, 4), w: [3, 1, 3, 3], group: 3, ...window })),
  ...[...oneAtATime(3)]
    .filter((_, at) => at % 3 === 0)
    .map((window) => ({ x: cube(2, 5), w: cube(2, 5), ...window })),
  { x: cube(4, 4), w: [4, 2, 4, 4], group: 2 },
  { x: cube(4, 4), w: [4, 2, 2, 2], group: 2, pads: [1, 1, 1, 1] },
  { x: cube(3, 4), w: [3, 3, 1, 1] },
];

function convolutions<K extends ConvolutionOp>(op: K): GeneratedRow<K> {
  return (dtype, random) => {
    const draw = (of: DType, shape: Shape) => terms(random, of, shape);
    return CONVOLVED.map((sample, at) => ({
      ...convolutionSample[op](sample, draw, dtype, at % 2 === 0 && op !== "ConvWeightGradient"),
      exact: true,
    }));
  };
}

export const convolutionSides: GeneratedRows<ConvolutionOp> = {
  Conv: convolutions("Conv"),
  ConvTranspose: convolutions("ConvTranspose"),
  ConvWeightGradient: convolutions("ConvWeightGradient"),
};

interface Pool {
  readonly shape: Shape;
  readonly window: PoolingWindow;
}

const POOLS: readonly Pool[] = [3, 4].flatMap((n) =>
  [
    { kernelShape: [2, 2] },
    { kernelShape: [1, 2] },
    { kernelShape: [2, 1] },
    { kernelShape: [2, 3] },
    { kernelShape: [3, 2] },
    { kernelShape: [2, 2], strides: [1, 2] },
    { kernelShape: [2, 2], strides: [2, 1] },
    { kernelShape: [2, 2], dilations: [1, 2] },
    { kernelShape: [2, 2], dilations: [2, 1] },
    ...[0, 1, 2, 3].map((end) => ({
      kernelShape: [2, 2],
      pads: cube(0, 4).map((zero, at) => (at === end ? 1 : zero)),
    })),
  ].map((window) => ({
    shape: cube(n, 4),
    window: { strides: [1, 1], dilations: [1, 1], pads: cube(0, 4), ceilMode: false, ...window },
  })),
);

const average = (random: RandomSource, dtype: DType) =>
  POOLS.map(({ shape, window }, at) =>
    sample<"AveragePool">({ ...window, countIncludePad: at % 2 === 0 }, terms(random, dtype, shape)),
  );

export const poolingSides: GeneratedRows<OpOf<"pooling">> = {
  MaxPool: (dtype, random) =>
    POOLS.map(({ shape, window }) => sample<"MaxPool">(window, labelled(random, dtype, shape))),
  AveragePool: (dtype, random) => average(random, dtype),
  MaxPoolGradient: (dtype, random) =>
    POOLS.map(({ shape, window }) => gradientSample(random, labelled(random, dtype, shape), window)),
};

const NORMALIZED: readonly Shape[] = [3, 4].flatMap((n) => [2, 3, 4].map((rank) => cube(n, rank)));

export const batchNormalizationSides: GeneratedRows<OpOf<"batch-normalization">> = {
  BatchNormalization: (dtype, random) =>
    NORMALIZED.map((shape) => {
      const channels = shape.slice(1, 2);
      return sample<"BatchNormalization">(
        { epsilon: 0.01 },
        randomData(random, dtype, shape),
        positives(random, "f32", channels),
        randomData(random, "f32", channels),
      );
    }),
  BatchNormalizationGradient: (dtype, random) =>
    NORMALIZED.map((shape) => {
      const x = randomData(random, dtype, shape);
      return sample<"BatchNormalizationGradient">(
        { epsilon: 0.01 },
        randomData(random, dtype, shape),
        x,
        positives(random, "f32", shape.slice(1, 2)),
        ...statisticsOf(x),
      );
    }),
};
