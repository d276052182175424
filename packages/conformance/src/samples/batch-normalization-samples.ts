/** Batch normalization and its gradient. */

import type { DType, HostTensor, Shape } from "@mp/core";
import { elementCount, isHalf, type OpOf } from "@mp/core/graph";
import { generated, hostData, numbersOf, randomData } from "../host-data.js";
import { type OpRows, positives } from "./op-sample.js";

/** All ranks, a batch of one, a single channel, odd sizes, spatial sizes of one element. */
const SHAPES: readonly Shape[] = [
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
 * Far from 0 relative to their spread, so that the mean of squares minus the squared mean would be noise; every sum is
 * exact.
 */
function farFromZero(dtype: DType, shape: Shape): HostTensor {
  const [mean, step] = dtype === "f32" ? [4096, 0.25] : dtype === "f16" ? [1000, 0.5] : [256, 4];
  return generated(dtype, shape, (at) => mean + step * ([-2, -1, 1, 2][at % 4] ?? 0));
}

const channelOf = (shape: Shape, at: number): number => {
  const [, channels = 1, ...rest] = shape;
  return Math.floor(at / elementCount(rest, "test data")) % channels;
};

/** Mean and biased variance of each channel, in f32. */
export function statisticsOf(x: HostTensor): readonly [mean: HostTensor, variance: HostTensor] {
  const channels = x.shape[1] ?? 1;
  const numbers = numbersOf(x);
  const meanOf = (f: (x: number, channel: number) => number): readonly number[] => {
    const sums = new Array<number>(channels).fill(0);
    numbers.forEach((number, at) => {
      const channel = channelOf(x.shape, at);
      sums[channel] = (sums[channel] ?? 0) + f(number, channel);
    });
    return sums.map((sum) => (sum * channels) / numbers.length);
  };
  const mean = meanOf((number) => number);
  const variance = meanOf((number, channel) => (number - (mean[channel] ?? 0)) ** 2);
  return [hostData("f32", mean), hostData("f32", variance)];
}

export const batchNormalizationSamples: OpRows<OpOf<"batch-normalization">> = {
  BatchNormalization: {
    samples: (dtype, random) => {
      const of = (x: HostTensor, epsilon = 1e-5, parameters: DType = "f32") => {
        const channels = [x.shape[1] ?? 1];
        const parts = [positives(random, parameters, channels), randomData(random, parameters, channels)];
        return { attributes: { epsilon }, inputs: [x, ...parts] };
      };
      const values = SHAPES.map((shape) => of(randomData(random, dtype, shape)));
      const one = [2, 3, 4, 4];
      return {
        values: [...values, of(randomData(random, dtype, one), 0.1)],
        ...(isHalf(dtype)
          ? { "parameters-in-the-half": [of(randomData(random, dtype, one), 1e-5, dtype)] }
          : {}),
        "constant-channels": [of(generated(dtype, one, (at) => [3, -100, 0][channelOf(one, at)] ?? 0))],
        "a-large-mean-and-a-small-variance": [
          of(farFromZero(dtype, [4, 2, 4, 4])),
          of(farFromZero(dtype, [16, 2])),
        ],
        "no-images": [of(randomData(random, dtype, [0, 3])), of(randomData(random, dtype, [0, 2, 3, 3]))],
        "nan-in-a-channel": [of(generated(dtype, one, (at) => (at === 20 ? Number.NaN : at % 5)))],
      };
    },
  },
  BatchNormalizationGradient: {
    samples: (dtype, random) => {
      const of = (x: HostTensor, epsilon = 1e-5) => {
        const [dy, scale] = [randomData(random, dtype, x.shape), positives(random, "f32", [x.shape[1] ?? 1])];
        return { attributes: { epsilon }, inputs: [dy, x, scale, ...statisticsOf(x)] };
      };
      return {
        values: [
          ...SHAPES.map((shape) => of(randomData(random, dtype, shape))),
          of(randomData(random, dtype, [2, 3, 4, 4]), 0.1),
        ],
        "no-images": [of(randomData(random, dtype, [0, 3])), of(randomData(random, dtype, [0, 2, 3, 3]))],
        "a-large-mean-and-a-small-variance": [of(farFromZero(dtype, [4, 2, 4, 4]))],
      };
    },
  },
};
