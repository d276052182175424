/** Batch normalization and its gradient. */
import {
  type DType,
  elementCount,
  type HostTensor,
  isHalf,
  type OpOf,
  type Shape,
  type Tensor,
} from "@mp/graph";
import * as ops from "@mp/graph/ops";
import { type Draws, generate, hostData, inDType, randomData, toNumbers } from "../host-data.js";
import { farChannels } from "./far-rows.js";
import { gradient, positivePoint, spread } from "./gradient-sample.js";
import { EPSILONS, near0 } from "./normalization-table.js";
import type { OpTable } from "./op-row.js";
import { positives, sample } from "./op-sample.js";
import { setting } from "./setting.js";
import { balance, natural, whole } from "./size-data.js";
import { formAt, lengths } from "./tail-data.js";

/** Shapes of all ranks, with a batch of one, a single channel, odd sizes, and spatial sizes of one element. */
const CHANNELED: readonly Shape[] = [
  [6, 3],
  [2, 3, 5],
  [2, 3, 4, 5],
  [2, 2, 2, 3, 2],
  [1, 3, 4, 4],
  [5, 1, 3, 3],
  [7, 2, 1, 1],
  [3, 8, 9, 7],
];

/**
 * Numbers far from 0 relative to their spread, so that the mean of squares minus the squared mean would be noise.
 * Every sum is exact.
 */
function farFromZero(dtype: DType, shape: Shape): HostTensor {
  const [mean, step] = dtype === "f32" ? [4096, 0.25] : dtype === "f16" ? [1000, 0.5] : [256, 4];
  return generate(dtype, shape, (at) => mean + step * ([-2, -1, 1, 2][at % 4] ?? 0));
}

const channelAt = (shape: Shape, at: number): number => {
  const [, channels = 1, ...rest] = shape;
  return Math.floor(at / elementCount(rest, "test data")) % channels;
};

/** Mean and biased variance of each channel, in f32. */
function statistics(x: HostTensor): readonly [mean: HostTensor, variance: HostTensor] {
  const channels = x.shape[1] ?? 1;
  const numbers = toNumbers(x);
  const channelMeans = (f: (x: number, channel: number) => number): readonly number[] => {
    const sums = new Array<number>(channels).fill(0);
    numbers.forEach((number, at) => {
      const channel = channelAt(x.shape, at);
      sums[channel] = (sums[channel] ?? 0) + f(number, channel);
    });
    return sums.map((sum) => (sum * channels) / numbers.length);
  };
  const mean = channelMeans((number) => number);
  const variance = channelMeans((number, channel) => (number - (mean[channel] ?? 0)) ** 2);
  return [hostData("f32", mean), hostData("f32", variance)];
}

/** Shapes with many channels, many images, or long axes; a sum has at most 70 terms, of mixed sign. */
const CHANNELS: readonly ((length: number) => Shape)[] = [
  (n) => [4, n],
  (n) => [n, 3],
  (n) => [2, n, 3],
  (n) => [1, 2, n],
  (n) => [1, 3, n, 1],
  (n) => [2, n, 1, 2],
];

const ones = (shape: Shape): HostTensor => generate("f32", shape, () => 1);

const manyAxes = (shapes: readonly Shape[]) => shapes.filter(({ length }) => length > 1);

const normalizeChannels = (x: Tensor, scale: Tensor, bias: Tensor): Tensor =>
  ops.batchNormalization(x, scale, bias).y;

/** Normalizes a batch with a random scale and bias per channel. */
const normalize = (draws: Draws, x: HostTensor, epsilon: number, parameters: DType = "f32") => {
  const channels = x.shape.slice(1, 2);
  const parts = [
    randomData(inDType(draws, parameters), channels, -1.25, 1.25),
    randomData(inDType(draws, parameters), channels),
  ];
  return sample<"BatchNormalization">({ epsilon }, x, ...parts);
};

/** Samples the gradient for a batch, with the statistics that the forward op gives for it. */
const normalizeBack = (draws: Draws, x: HostTensor, epsilon: number) =>
  sample<"BatchNormalizationGradient">(
    { epsilon },
    randomData(draws, x.shape),
    x,
    randomData(inDType(draws, "f32"), x.shape.slice(1, 2), -1.25, 1.25),
    ...statistics(x),
  );

export const batchNormalizationTable: OpTable<OpOf<"batch-normalization">> = {
  BatchNormalization: {
    samples: (draws) => {
      const of = (x: HostTensor, epsilon = 1e-5, parameters: DType = "f32") =>
        normalize(draws, x, epsilon, parameters);
      const values = CHANNELED.map((shape) => of(randomData(draws, shape)));
      const one = [2, 3, 4, 4];
      return {
        values: [...values, of(randomData(draws, one), 0.1)],
        ...(isHalf(draws.dtype)
          ? { "parameters-in-the-half": [of(randomData(draws, one), 1e-5, draws.dtype)] }
          : {}),
        "constant-channels": [of(generate(draws.dtype, one, (at) => [3, -100, 0][channelAt(one, at)] ?? 0))],
        "a-large-mean-and-a-small-variance": [
          of(farFromZero(draws.dtype, [4, 2, 4, 4])),
          of(farFromZero(draws.dtype, [16, 2])),
        ],
        "no-images": [of(randomData(draws, [0, 3])), of(randomData(draws, [0, 2, 3, 3]))],
        "nan-in-a-channel": [of(generate(draws.dtype, one, (at) => (at === 20 ? Number.NaN : at % 5)))],
      };
    },
    tails: (draws) =>
      lengths(draws.dtype).map((length) =>
        normalize(draws, randomData(draws, formAt(CHANNELS, length)(length)), 0.01),
      ),
    sizes: () => {
      const of = (shape: Shape, axis: number) => {
        const channels = [shape[1] ?? 1];
        return sample<"BatchNormalization">(
          { epsilon: 1e-5 },
          balance(shape, axis),
          natural(channels),
          whole(channels),
        );
      };
      return [
        of([4_134, 17], 0),
        of([18, 4_134], 0),
        of([66_002, 2], 0),
        of([2, 3, 16_502], 2),
        of([2, 1_031, 40], 2),
      ];
    },
    axes: (draws, shapes) => ({
      "every-rank": manyAxes(shapes).map((shape) => normalize(draws, randomData(draws, shape), 1e-3)),
    }),
    options: (dtype) => [
      setting(
        "BatchNormalization",
        { epsilon: EPSILONS },
        { own: dtype === "f32" ? [false] : [false, true] },
        (attributes, { own }, draws) => {
          const of = own ? dtype : "f32";
          return sample(
            attributes,
            near0(draws, [4, 3, 5]),
            positives(inDType(draws, of), [3]),
            positives(inDType(draws, of), [3]),
          );
        },
      ),
    ],
    gradients: [
      gradient("channels", [spread([4, 3, 2, 2]), positivePoint([3], 1), spread([3], 2)], normalizeChannels),
      gradient("rows", [spread([6, 4]), positivePoint([4], 1), spread([4], 2)], normalizeChannels),
      gradient(
        "a-batch-of-one",
        [spread([1, 2, 5]), positivePoint([2], 1), spread([2], 2)],
        normalizeChannels,
      ),
      gradient(
        "its-statistics-too",
        [spread([3, 2, 4]), positivePoint([2], 1), spread([2], 2)],
        (x, s, b) => {
          const { y, mean, variance } = ops.batchNormalization(x, s, b);
          return ops.add(y, ops.reshape(ops.add(ops.mul(mean, 2), variance), [2, 1]));
        },
      ),
    ],
    rare: [farChannels],
  },
  BatchNormalizationGradient: {
    samples: (draws) => {
      const of = (x: HostTensor, epsilon = 1e-5) => normalizeBack(draws, x, epsilon);
      return {
        values: [
          ...CHANNELED.map((shape) => of(randomData(draws, shape))),
          of(randomData(draws, [2, 3, 4, 4]), 0.1),
        ],
        "no-images": [of(randomData(draws, [0, 3])), of(randomData(draws, [0, 2, 3, 3]))],
        "a-large-mean-and-a-small-variance": [of(farFromZero(draws.dtype, [4, 2, 4, 4]))],
      };
    },
    tails: (draws) =>
      lengths(draws.dtype).map((length) =>
        normalizeBack(draws, randomData(draws, formAt(CHANNELS, length)(length)), 0.01),
      ),
    sizes: () => {
      const of = (shape: Shape, axis: number) => {
        const channels = [shape[1] ?? 1];
        const x = balance(shape, axis);
        return sample<"BatchNormalizationGradient">(
          { epsilon: 1e-5 },
          balance(shape, axis),
          x,
          ones(channels),
          generate("f32", channels, () => 0),
          generate("f32", channels, () => 4),
        );
      };
      return [of([4_134, 17], 0), of([18, 4_134], 0), of([2, 3, 16_502], 2), of([2, 1_031, 40], 2)];
    },
    axes: (draws, shapes) => ({
      "every-rank": manyAxes(shapes).map((shape) => normalizeBack(draws, randomData(draws, shape), 1e-3)),
    }),
    options: () => [
      setting("BatchNormalizationGradient", { epsilon: EPSILONS }, {}, (attributes, _, draws) => {
        const x = near0(draws, [4, 3, 5]);
        return sample(
          attributes,
          near0(draws, x.shape),
          x,
          positives(inDType(draws, "f32"), [3]),
          ...statistics(x),
        );
      }),
    ],
    gradients: { none: "is the gradient of BatchNormalization, and tried there" },
  },
};
