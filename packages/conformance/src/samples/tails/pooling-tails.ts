import type { DType, HostTensor, Shape } from "@mp/core";
import type { OpOf, PoolingWindow } from "@mp/core/graph";
import type { RandomSource } from "../../random-source.js";
import type { GeneratedRows } from "../generated-row.js";
import { sample } from "../op-sample.js";
import { gradientSample } from "../pooling-samples.js";
import { formAt, labelled, lengthsOf, terms } from "./tail-data.js";

type Pool = readonly [shape: Shape, window: Omit<PoolingWindow, "ceilMode" | "dilations">];

const kernel = (size: number, most: number): number => Math.min(size, most);

/** Many channels, wide images, and high ones. */
const POOLS: readonly ((length: number) => Pool)[] = [
  (n) => [[1, n, 2, 3], { kernelShape: [2, 2], strides: [1, 1], pads: [0, 0, 0, 0] }],
  (n) => [[1, 2, n], { kernelShape: [kernel(n, 3)], strides: [1], pads: [0, 0] }],
  (n) => [[1, 2, 3, n], { kernelShape: [2, kernel(n, 2)], strides: [1, 2], pads: [0, 0, 0, 0] }],
  (n) => [[1, 1, n, 3], { kernelShape: [3, 3], strides: [1, 1], pads: [1, 1, 1, 1] }],
  (n) => [[n, 1, 2, 2], { kernelShape: [2, 1], strides: [1, 1], pads: [0, 0, 0, 0] }],
  (n) => [[1, 2, n], { kernelShape: [n], strides: [1], pads: [0, 0] }],
];

const windowOf = ([, window]: Pool): PoolingWindow => ({
  ...window,
  dilations: window.kernelShape.map(() => 1),
  ceilMode: false,
});

function pools<T>(dtype: DType, of: (pool: Pool, length: number) => T): readonly T[] {
  return lengthsOf(dtype).map((length) => of(formAt(POOLS, length)(length), length));
}

const elements = (random: RandomSource, dtype: DType, [shape]: Pool): HostTensor =>
  labelled(random, dtype, shape);

export const poolingTails: GeneratedRows<OpOf<"pooling">> = {
  MaxPool: (dtype, random) =>
    pools(dtype, (pool) => sample<"MaxPool">(windowOf(pool), elements(random, dtype, pool))),
  AveragePool: (dtype, random) =>
    pools(dtype, (pool, length) =>
      sample<"AveragePool">(
        { ...windowOf(pool), countIncludePad: length % 2 === 0 },
        terms(random, dtype, pool[0]),
      ),
    ),
  MaxPoolGradient: (dtype, random) =>
    pools(dtype, (pool) => gradientSample(random, elements(random, dtype, pool), windowOf(pool))),
};
