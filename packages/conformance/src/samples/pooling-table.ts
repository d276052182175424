/** Pooling over windows, and the gradient of MaxPool. */
import {
  type ComputeDType,
  type DType,
  floatFormats,
  GraphBuilder,
  type HostTensor,
  type KernelWindow,
  type OpAttributes,
  type OpOf,
  type PoolingWindow,
  type Shape,
} from "@mp/graph";
import * as ops from "@mp/graph/ops";
import { evaluate } from "@mp/graph/reference";
import { type Draws, generate, hostData, randomData } from "../host-data.js";
import type { RandomSource } from "../random-source.js";
import { farAveragePool } from "./far-rows.js";
import { gradient, spread } from "./gradient-sample.js";
import type { OpTable } from "./op-row.js";
import { countUp, distinct, exact, type OpSample, sample } from "./op-sample.js";
import { type Listed, type Options, setting } from "./setting.js";
import { cube } from "./side-data.js";
import { shuffle, whole } from "./size-data.js";
import { formAt, label, lengths, terms } from "./tail-data.js";
import { BATCH, fits, type Placed, WINDOWS, windowLists } from "./windows.js";

interface Pool {
  readonly shape: Shape;
  readonly window: PoolingWindow;
}

const plain = { ceilMode: false };

/** Windows that touch, overlap, leave gaps, are padded on one side or dilated; odd sizes; 1 to 3 spatial axes. */
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

/** Padding as large as the kernel, whose extent a dilation enlarges. */
const WIDELY_PADDED: readonly Pool[] = [
  {
    shape: [1, 2, 3, 3],
    window: { kernelShape: [3, 2], strides: [1, 2], pads: [1, 2, 1, 1], dilations: [1, 2], ...plain },
  },
  { shape: [2, 1, 4], window: { kernelShape: [2], strides: [1], pads: [2, 2], dilations: [3], ...plain } },
];

/**
 * Windows whose last positions extend beyond the padding. In the last entry, one that would begin there is dropped.
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

/** Windows with NaN first or last, with NaN next to an infinity, and with only -infinity. */
function withNan(dtype: DType): HostTensor {
  const [nan, most] = [Number.NaN, Number.POSITIVE_INFINITY];
  return hostData(dtype, [nan, 1, 2, 3, 4, 5, 6, nan, most, nan, -most, -most, 0, -most, -most, -most], KEPT);
}

/**
 * Windows with the lowest finite number, from which kernels start their search: alone and next to infinities and NaN,
 * in the middle, at padded edges (where half of a window is padding), dilated, and over one to three axes.
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
    const of = (strides: number, pads: number, dilations: number) =>
      sample<"MaxPool">(
        {
          kernelShape: each(2),
          strides: each(strides),
          pads: each(pads, 2 * rank),
          dilations: each(dilations),
          ceilMode: false,
        },
        ...inputs,
      );
    return [of(2, 0, 1), of(1, 1, 1), of(1, 1, 2)];
  });
}

/** A sample with y = MaxPool(x), which every engine may rely on. */
function maxPoolGradient(
  random: RandomSource,
  x: HostTensor,
  attributes: PoolingWindow,
): OpSample<"MaxPoolGradient"> {
  const builder = new GraphBuilder();
  const value = builder.input("x", x, "batch");
  const { y } = evaluate(builder.finish({ y: builder.emitOne("MaxPool", [value], attributes) }), { x });
  if (y === undefined) throw new Error("internal: the graph has a result");
  return sample(attributes, randomData({ random, dtype: x.dtype }, y.shape), x, y);
}

type TailPool = readonly [shape: Shape, window: Omit<PoolingWindow, "ceilMode" | "dilations">];

const kernel = (size: number, most: number): number => Math.min(size, most);

/** Pools of many channels, wide images, or high images. */
const TAIL_POOLS: readonly ((length: number) => TailPool)[] = [
  (n) => [[1, n, 2, 3], { kernelShape: [2, 2], strides: [1, 1], pads: [0, 0, 0, 0] }],
  (n) => [[1, 2, n], { kernelShape: [kernel(n, 3)], strides: [1], pads: [0, 0] }],
  (n) => [[1, 2, 3, n], { kernelShape: [2, kernel(n, 2)], strides: [1, 2], pads: [0, 0, 0, 0] }],
  (n) => [[1, 1, n, 3], { kernelShape: [3, 3], strides: [1, 1], pads: [1, 1, 1, 1] }],
  (n) => [[n, 1, 2, 2], { kernelShape: [2, 1], strides: [1, 1], pads: [0, 0, 0, 0] }],
  (n) => [[1, 2, n], { kernelShape: [n], strides: [1], pads: [0, 0] }],
];

const poolWindow = ([, window]: TailPool): PoolingWindow => ({
  ...window,
  dilations: window.kernelShape.map(() => 1),
  ceilMode: false,
});

function pools<T>(dtype: DType, of: (pool: TailPool, length: number) => T): readonly T[] {
  return lengths(dtype).map((length) => of(formAt(TAIL_POOLS, length)(length), length));
}

const elements = (draws: Draws, [shape]: TailPool): HostTensor => label(draws, shape);

const line = (
  kernel: number,
  stride: number,
): KernelWindow & Pick<PoolingWindow, "kernelShape" | "ceilMode"> => ({
  kernelShape: [kernel],
  strides: [stride],
  pads: [0, 0],
  dilations: [1],
  ceilMode: false,
});

const square: PoolingWindow = {
  kernelShape: [2, 2],
  strides: [2, 2],
  pads: [0, 0, 0, 0],
  dilations: [1, 1],
  ceilMode: false,
};

const LARGE_POOLS: readonly (readonly [Shape, PoolingWindow])[] = [
  [[4_133, 1, 34], line(2, 2)],
  [[1, 1, 66_002], line(3, 1)],
  [[66_002, 1, 2], line(2, 1)],
  [[1, 1_031, 70], line(2, 2)],
  [[3, 2, 134, 132], square],
  [[2, 1, 2_002], line(1_001, 1_001)],
]; // biome-ignore format: one pool a line

/** The maximum of each window, for windows that overlap at their ends at most. */
function maxOfWindows(x: HostTensor, { kernelShape, strides }: PoolingWindow): HostTensor {
  const [n = 0, c = 0, ...sizes] = x.shape;
  const out = sizes.map(
    (size, axis) => Math.floor((size - (kernelShape[axis] ?? 1)) / (strides[axis] ?? 1)) + 1,
  );
  const [height = 1, width = 1] = sizes.length === 1 ? [1, ...sizes] : sizes;
  const [rows = 1, columns = 1] = out.length === 1 ? [1, ...out] : out;
  const [kh = 1, kw = 1] = sizes.length === 1 ? [1, ...kernelShape] : kernelShape;
  const [sh = 1, sw = 1] = sizes.length === 1 ? [1, ...strides] : strides;
  const data = new Float32Array(n * c * rows * columns);
  for (let at = 0; at < data.length; at++) {
    const [column, row, plane] = [
      at % columns,
      Math.floor(at / columns) % rows,
      Math.floor(at / (columns * rows)),
    ];
    let most = Number.NEGATIVE_INFINITY;
    for (let i = 0; i < kh; i++) {
      for (let j = 0; j < kw; j++) {
        most = Math.max(
          most,
          Number(x.data[plane * height * width + (row * sh + i) * width + column * sw + j]),
        );
      }
    }
    data[at] = most;
  }
  return { dtype: "f32", shape: [n, c, ...out], data };
}

interface CubePool {
  readonly shape: Shape;
  readonly window: PoolingWindow;
}

const CUBE_POOLS: readonly CubePool[] = [3, 4].flatMap((n) =>
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

const average = (draws: Draws) =>
  CUBE_POOLS.map(({ shape, window }, at) =>
    sample<"AveragePool">({ ...window, countIncludePad: at % 2 === 0 }, terms(draws, shape)),
  );

/** Whether all padding is shorter than the kernel, so that every window covers an element. */
const isCovered = (kernel: Shape, { pads }: Pick<Placed, "pads">): boolean =>
  pads.every((pad, at) => pad < (kernel[at % kernel.length] ?? 1));

/** Every option of a pool. With `ceilMode`, the last window extends beyond the end of an axis. */
function poolOptions<K extends OpOf<"pooling">>(
  op: K,
  more: Pick<Listed<OpAttributes[K]>, Exclude<keyof OpAttributes[K], keyof OpAttributes["MaxPool"]>>,
): Options<K> {
  return () =>
    WINDOWS.map((windows) =>
      setting(
        op,
        {
          ...windowLists(windows),
          kernelShape: windows.kernels.filter((kernel) => isCovered(kernel, { pads: windows.pads[0] ?? [] })),
          ceilMode: [false, true],
          ...more,
        } as unknown as Listed<OpAttributes[K]>,
        {},
        (attributes, _, draws) => {
          const { sizes } = windows;
          const { kernelShape } = attributes;
          if (!fits(sizes, kernelShape, attributes) || !isCovered(kernelShape, attributes)) return undefined;
          const x = distinct(draws, [BATCH, 2, ...sizes]);
          return op === "MaxPoolGradient"
            ? (maxPoolGradient(draws.random, x, attributes) as never)
            : sample<K>(attributes, x);
        },
      ),
    );
}

/** Windows that touch, overlap, leave gaps, or extend into the padding and beyond it, over one to three axes. */
const poolings = [
  { behaviour: "windows-of-two", shape: [2, 2, 4, 6], kernel: 2, options: {} },
  { behaviour: "overlapping", shape: [1, 2, 7, 5], kernel: 3, options: { strides: 2, pads: 1 } },
  { behaviour: "with-gaps", shape: [1, 3, 9], kernel: 2, options: { strides: 4, pads: [1, 0] } },
  {
    behaviour: "with-a-ceiling",
    shape: [1, 1, 6, 8],
    kernel: [3, 2],
    options: { strides: [2, 3], ceilMode: true },
  },
  {
    behaviour: "with-holes",
    shape: [1, 2, 7, 8],
    kernel: [3, 2],
    options: { strides: 1, pads: 1, dilations: [2, 3] },
  },
  { behaviour: "volumes", shape: [1, 2, 4, 3, 5], kernel: 2, options: { strides: [2, 1, 2] } },
] as const;

export const poolingTable: OpTable<OpOf<"pooling">> = {
  MaxPool: {
    samples: (draws) => {
      const of = ({ shape, window }: Pool) => sample<"MaxPool">(window, randomData(draws, shape));
      return {
        values: POOLS.map(of),
        "pads-of-a-kernels-size": WIDELY_PADDED.map(of),
        "ceiling-of-the-size": CEILED.map(of),
        "all-negative": [sample(POOLS[1]?.window ?? TWO, randomData(draws, [1, 2, 7, 5], -3, -1))],
        "nan-in-windows": [sample(TWO, withNan(draws.dtype))],
        "lowest-and-infinite": atTheLowest(draws.dtype),
      };
    },
    tails: (draws) => pools(draws.dtype, (pool) => sample(poolWindow(pool), elements(draws, pool))),
    sizes: () => LARGE_POOLS.map(([shape, window]) => exact(window, shuffle(shape))),
    sides: (draws) => CUBE_POOLS.map(({ shape, window }) => sample(window, label(draws, shape))),
    options: poolOptions("MaxPool", {}),
    gradients: poolings.map(({ behaviour, shape, kernel, options }) =>
      gradient(behaviour, [spread(shape)], (x) => ops.maxPool(x, kernel, options)),
    ),
  },
  AveragePool: {
    samples: (draws) => {
      const of = (countIncludePad: boolean) => (pool: Pool) =>
        sample<"AveragePool">({ ...pool.window, countIncludePad }, randomData(draws, pool.shape));
      return {
        values: POOLS.map(of(false)),
        "padding-counts": POOLS.map(of(true)),
        "pads-of-a-kernels-size": [...WIDELY_PADDED.map(of(false)), ...WIDELY_PADDED.map(of(true))],
        "ceiling-of-the-size": [...CEILED.map(of(false)), ...CEILED.map(of(true))],
        // A sum that accumulates in a half would overflow, or stall.
        "sums-in-f32": [
          sample(
            { ...TWO, kernelShape: [16, 16], strides: [16, 16], countIncludePad: false },
            generate(draws.dtype, [1, 2, 16, 16], (at) => (at === 0 ? 4096 : 1024 + (at % 2))),
          ),
        ],
      };
    },
    tails: (draws) =>
      pools(draws.dtype, (pool, length) =>
        sample({ ...poolWindow(pool), countIncludePad: length % 2 === 0 }, terms(draws, pool[0])),
      ),
    sizes: () =>
      LARGE_POOLS.map(([shape, window]) => sample({ ...window, countIncludePad: false }, whole(shape))),
    sides: (draws) => average(draws),
    options: poolOptions("AveragePool", { countIncludePad: [false, true] }),
    gradients: poolings.flatMap(({ behaviour, shape, kernel, options }) =>
      [false, true].map((countIncludePad) =>
        gradient(countIncludePad ? `${behaviour}-padding-counted` : behaviour, [spread(shape)], (x) =>
          ops.averagePool(x, kernel, { ...options, countIncludePad }),
        ),
      ),
    ),
    rare: [farAveragePool],
  },
  MaxPoolGradient: {
    samples: (draws) => {
      const of = (x: HostTensor, { window }: Pool) => maxPoolGradient(draws.random, x, window);
      return {
        values: POOLS.map((pool) => of(countUp(draws.dtype, pool.shape), pool)),
        "ceiling-of-the-size": CEILED.map((pool) => of(countUp(draws.dtype, pool.shape), pool)),
        "pads-of-a-kernels-size": WIDELY_PADDED.flatMap((pool) => [
          of(countUp(draws.dtype, pool.shape), pool),
          of(
            generate(draws.dtype, pool.shape, (at) => (at % 5 === 0 ? 1 : Number.NEGATIVE_INFINITY)),
            pool,
          ),
        ]),
        "of-equals-the-first": POOLS.map((pool) =>
          of(
            generate(draws.dtype, pool.shape, (at) => at % 2),
            pool,
          ),
        ),
        "all-equal": POOLS.map((pool) =>
          of(
            generate(draws.dtype, pool.shape, () => 0),
            pool,
          ),
        ),
        // A search that starts at -infinity finds nothing here, and then writes nowhere or before the plane.
        "nothing-but-negative-infinity": POOLS.map((pool) =>
          of(
            generate(draws.dtype, pool.shape, () => Number.NEGATIVE_INFINITY),
            pool,
          ),
        ),
      };
    },
    tails: (draws) =>
      pools(draws.dtype, (pool) => maxPoolGradient(draws.random, elements(draws, pool), poolWindow(pool))),
    sizes: () =>
      LARGE_POOLS.map(([shape, window]) => {
        const x = shuffle(shape);
        const y = maxOfWindows(x, window);
        return exact(window, whole(y.shape), x, y);
      }),
    sides: (draws) =>
      CUBE_POOLS.map(({ shape, window }) => maxPoolGradient(draws.random, label(draws, shape), window)),
    options: poolOptions("MaxPoolGradient", {}),
    gradients: { none: "is the gradient of MaxPool, and tried there" },
  },
};
