/** Pools over windows, and the gradient of the maximum. */

import type { DType, HostTensor, Shape } from "@mp/core";
import { type ComputeDType, floatFormats, GraphBuilder, type OpOf, type PoolingWindow } from "@mp/core/graph";
import { evaluate } from "@mp/core/reference";
import { generated, hostData, randomData } from "../host-data.js";
import type { RandomSource } from "../random-source.js";
import { counted, type OpRows, type OpSample } from "./op-sample.js";

interface Pool {
  readonly shape: Shape;
  readonly window: PoolingWindow;
}

const plain = { ceilMode: false };

/** Touching, overlapping, with gaps, padded on one side, dilated, odd sizes, a batch of one; up to three dimensions. */
const POOLS: readonly Pool[] = [
  {
    shape: [2, 3, 4, 6],
    window: { kernelShape: [2, 2], strides: [2, 2], pads: [0, 0, 0, 0], dilations: [1, 1], ...plain },
  },
  {
    shape: [1, 2, 7, 5],
    window: { kernelShape: [3, 3], strides: [2, 2], pads: [1, 1, 1, 1], dilations: [1, 1], ...plain },
  },
  {
    shape: [2, 1, 5, 7],
    window: { kernelShape: [2, 3], strides: [1, 4], pads: [1, 0, 0, 0], dilations: [1, 1], ...plain },
  },
  {
    shape: [1, 2, 7, 8],
    window: { kernelShape: [3, 2], strides: [1, 1], pads: [1, 1, 1, 1], dilations: [2, 3], ...plain },
  },
  {
    shape: [3, 2, 9],
    window: { kernelShape: [3], strides: [2], pads: [1, 1], dilations: [1], ...plain },
  },
  {
    shape: [1, 2, 4, 3, 5],
    window: {
      kernelShape: [2, 2, 2],
      strides: [2, 1, 2],
      pads: [0, 0, 1, 0, 1, 0],
      dilations: [1, 1, 1],
      ...plain,
    },
  },
  {
    shape: [1, 1, 3, 3],
    window: { kernelShape: [3, 3], strides: [1, 1], pads: [0, 0, 0, 0], dilations: [1, 1], ...plain },
  },
];

/** Pads as large as the kernel, which is larger when dilated. */
const WIDELY_PADDED: readonly Pool[] = [
  {
    shape: [1, 2, 3, 3],
    window: { kernelShape: [3, 2], strides: [1, 2], pads: [1, 2, 1, 1], dilations: [1, 2], ...plain },
  },
  { shape: [2, 1, 4], window: { kernelShape: [2], strides: [1], pads: [2, 2], dilations: [3], ...plain } },
];

/**
 * The last windows reach beyond the padding; a window that would start there is dropped (second axis of the last
 * entry).
 */
const CEILED: readonly Pool[] = [
  {
    shape: [1, 2, 6, 8],
    window: { kernelShape: [3, 2], strides: [2, 3], pads: [0, 1, 0, 1], dilations: [1, 1], ceilMode: true },
  },
  {
    shape: [2, 1, 6],
    window: { kernelShape: [2], strides: [3], pads: [1, 1], dilations: [1], ceilMode: true },
  },
];

const KEPT = [1, 1, 4, 4];
const TWO: PoolingWindow = {
  kernelShape: [2, 2],
  strides: [2, 2],
  pads: [0, 0, 0, 0],
  dilations: [1, 1],
  ceilMode: false,
};

/** NaN first and last in its window, next to an infinity, and windows of only -infinity. */
function withNan(dtype: DType): HostTensor {
  const [nan, most] = [Number.NaN, Number.POSITIVE_INFINITY];
  return hostData(dtype, [nan, 1, 2, 3, 4, 5, 6, nan, most, nan, -most, -most, 0, -most, -most, -most], KEPT);
}

/**
 * The lowest finite number, from which kernels start their search, alone and next to infinities and NaN: in the middle,
 * at padded edges (where a window of one element is half padding), dilated, over one to three axes.
 */
function atTheLowest(dtype: DType) {
  const lowest = -floatFormats[dtype as ComputeDType].maxFinite;
  const [none, most, nan] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY, Number.NaN];
  // biome-ignore format: windows of two by two
  const plane = [
    lowest, lowest, lowest, none,   none, none,
    lowest, lowest, none,   none,   none, none,
    nan,    lowest, none,   lowest, most, lowest,
    lowest, lowest, most,   none,   none, none,
    -1,     lowest, none,   nan,    0,    none,
    none,   none,   none,   lowest, none, -most,
  ];
  const shapes: readonly Shape[] = [
    [1, 1, 6, 6],
    [1, 3, 12],
    [1, 1, 2, 3, 6],
  ];
  return shapes.flatMap((shape) => {
    const rank = shape.length - 2;
    const each = (value: number, count = rank): readonly number[] => new Array<number>(count).fill(value);
    const inputs = [hostData(dtype, plane, shape)];
    const of = (strides: number, pads: number, dilations: number) => ({
      attributes: {
        kernelShape: each(2),
        strides: each(strides),
        pads: each(pads, 2 * rank),
        dilations: each(dilations),
        ceilMode: false,
      },
      inputs,
    });
    return [of(2, 0, 1), of(1, 1, 1), of(1, 1, 2)];
  });
}

export const poolingSamples: OpRows<OpOf<"pooling">> = {
  MaxPool: {
    samples: (dtype, random) => {
      const of = ({ shape, window }: Pool) => ({
        attributes: window,
        inputs: [randomData(random, dtype, shape)],
      });
      return {
        values: POOLS.map(of),
        "pads-of-a-kernels-size": WIDELY_PADDED.map(of),
        "ceiling-of-the-size": CEILED.map(of),
        "all-negative": [
          { attributes: POOLS[1]?.window ?? TWO, inputs: [randomData(random, dtype, [1, 2, 7, 5], -3, -1)] },
        ],
        "nan-in-windows": [{ attributes: TWO, inputs: [withNan(dtype)] }],
        "lowest-and-infinite": atTheLowest(dtype),
      };
    },
  },
  AveragePool: {
    samples: (dtype, random) => {
      const of = (countIncludePad: boolean) => (pool: Pool) => ({
        attributes: { ...pool.window, countIncludePad },
        inputs: [randomData(random, dtype, pool.shape)],
      });
      return {
        values: POOLS.map(of(false)),
        "padding-counts": POOLS.map(of(true)),
        "pads-of-a-kernels-size": [...WIDELY_PADDED.map(of(false)), ...WIDELY_PADDED.map(of(true))],
        "ceiling-of-the-size": [...CEILED.map(of(false)), ...CEILED.map(of(true))],
        // A sum that accumulates in a half would overflow, or stall.
        "sums-in-f32": [
          {
            attributes: { ...TWO, kernelShape: [16, 16], strides: [16, 16], countIncludePad: false },
            inputs: [generated(dtype, [1, 2, 16, 16], (at) => (at === 0 ? 4096 : 1024 + (at % 2)))],
          },
        ],
      };
    },
  },
  MaxPoolGradient: {
    samples: (dtype, random) => {
      const of = (x: HostTensor, { window }: Pool) => gradientSample(random, x, window);
      return {
        values: POOLS.map((pool) => of(distinct(dtype, pool.shape), pool)),
        "ceiling-of-the-size": CEILED.map((pool) => of(distinct(dtype, pool.shape), pool)),
        "pads-of-a-kernels-size": WIDELY_PADDED.flatMap((pool) => [
          of(distinct(dtype, pool.shape), pool),
          of(
            generated(dtype, pool.shape, (at) => (at % 5 === 0 ? 1 : Number.NEGATIVE_INFINITY)),
            pool,
          ),
        ]),
        "of-equals-the-first": POOLS.map((pool) =>
          of(
            generated(dtype, pool.shape, (at) => at % 2),
            pool,
          ),
        ),
        "all-equal": POOLS.map((pool) =>
          of(
            generated(dtype, pool.shape, () => 0),
            pool,
          ),
        ),
        // A search that starts at -infinity finds nothing here, and then writes nowhere or before the plane.
        "nothing-but-negative-infinity": POOLS.map((pool) =>
          of(
            generated(dtype, pool.shape, () => Number.NEGATIVE_INFINITY),
            pool,
          ),
        ),
      };
    },
  },
};

/** All different in any window. */
const distinct = (dtype: DType, shape: Shape): HostTensor => counted(dtype, shape);

/** y is computed from x as the op defines, which every engine may rely on. */
export function gradientSample(
  random: RandomSource,
  x: HostTensor,
  attributes: PoolingWindow,
): OpSample<"MaxPoolGradient"> {
  const builder = new GraphBuilder();
  const value = builder.input("x", x, "batch");
  const { y } = evaluate(builder.finish({ y: builder.emitOne("MaxPool", [value], attributes) }), { x });
  if (y === undefined) throw new Error("internal: the graph has a result");
  return { attributes, inputs: [randomData(random, x.dtype, y.shape), x, y] };
}
