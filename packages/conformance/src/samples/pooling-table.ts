/** Pooling over windows, and the gradient of MaxPool. */
import {
  type ComputeDType,
  type DType,
  floatFormats,
  GraphBuilder,
  type HostTensor,
  type OpAttributes,
  type OpOf,
  type PoolingWindow,
  type Shape,
} from "@mp/graph";
import * as ops from "@mp/graph/ops";
import { evaluate } from "@mp/graph/reference";
import { generate, hostData, randomData } from "../host-data.js";
import { cube } from "./axis-data.js";
import { farAveragePool } from "./far-rows.js";
import { gradient, spread } from "./gradient-sample.js";
import type { OpTable } from "./op-row.js";
import { countUp, distinct, exact, type OpSample, sample } from "./op-sample.js";
import { type Listed, type Options, setting } from "./setting.js";
import { shuffle, whole } from "./size-data.js";
import { formAt, label, lengths, terms } from "./tail-data.js";
import { BATCH, fits, type Placed, WINDOWS, windowLists } from "./windows.js";

interface Pool {
  readonly shape: Shape;
  readonly window: PoolingWindow;
}

/** Omitted strides and dilations are 1, omitted pads 0. */
const pool = (shape: Shape, kernelShape: Shape, given: Partial<PoolingWindow> = {}): Pool => {
  const rank = kernelShape.length;
  const window = { strides: cube(1, rank), pads: cube(0, 2 * rank), dilations: cube(1, rank) };
  return { shape, window: { kernelShape, ...window, ceilMode: false, ...given } };
};

/** Windows that touch, overlap, leave gaps, are padded on one side or dilated; odd sizes; 1 to 3 spatial axes. */
const POOLS: readonly Pool[] = [
  pool([2, 3, 4, 6], [2, 2], { strides: [2, 2] }),
  pool([1, 2, 7, 5], [3, 3], { strides: [2, 2], pads: [1, 1, 1, 1] }),
  pool([2, 1, 5, 7], [2, 3], { strides: [1, 4], pads: [1, 0, 0, 0] }),
  pool([1, 2, 7, 8], [3, 2], { pads: [1, 1, 1, 1], dilations: [2, 3] }),
  pool([3, 2, 9], [3], { strides: [2], pads: [1, 1] }),
  pool([1, 2, 4, 3, 5], [2, 2, 2], { strides: [2, 1, 2], pads: [0, 0, 1, 0, 1, 0] }),
  pool([1, 1, 3, 3], [3, 3]),
];

/** Padding as large as the kernel, whose extent a dilation enlarges. */
const WIDELY_PADDED: readonly Pool[] = [
  pool([1, 2, 3, 3], [3, 2], { strides: [1, 2], pads: [1, 2, 1, 1], dilations: [1, 2] }),
  pool([2, 1, 4], [2], { pads: [2, 2], dilations: [3] }),
];

/** Windows with `ceilMode`. In the first, one extends beyond the end, and one that would begin there is dropped. */
const CEILED: readonly Pool[] = [
  pool([1, 2, 6, 8], [3, 2], { strides: [2, 3], pads: [0, 1, 0, 1], ceilMode: true }),
  pool([2, 1, 6], [2], { strides: [3], pads: [1, 1], ceilMode: true }),
];

const KEPT = [1, 1, 4, 4];

const { window: TWO } = pool(KEPT, [2, 2], { strides: [2, 2] });

/** Windows with NaN first or last, with NaN next to an infinity, and with only -infinity. */
function withNan(dtype: DType): HostTensor {
  const [nan, most] = [Number.NaN, Number.POSITIVE_INFINITY];
  return hostData(dtype, [nan, 1, 2, 3, 4, 5, 6, nan, most, nan, -most, -most, 0, -most, -most, -most], KEPT);
}

/**
 * Windows that contain the lowest finite number, where many kernels start their search for the largest. It stands alone
 * or next to infinities and NaN. The windows lie inside or at padded edges, where half of a window is padding; some are
 * dilated; they span one to three axes.
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
    const of = (strides: number, pads: number, dilations: number) => {
      const given = {
        strides: cube(strides, rank),
        pads: cube(pads, 2 * rank),
        dilations: cube(dilations, rank),
      };
      return sample<"MaxPool">(pool(shape, cube(2, rank), given).window, hostData(dtype, plane, shape));
    };
    return [of(2, 0, 1), of(1, 1, 1), of(1, 1, 2)];
  });
}

/** A sample with y = MaxPool(x), which every engine may rely on. */
function maxPoolGradient(
  x: HostTensor,
  attributes: PoolingWindow,
  draw: (shape: Shape) => HostTensor,
): OpSample<"MaxPoolGradient"> {
  const builder = new GraphBuilder();
  const value = builder.input("x", x, "batch");
  const { y } = evaluate(builder.finish({ y: builder.emitOne("MaxPool", [value], attributes) }), { x });
  if (y === undefined) throw new Error("internal: the graph has a result");
  return sample(attributes, draw(y.shape), x, y);
}

/** Pools of many channels, wide images, or high images. */
const TAIL_POOLS: readonly ((length: number) => Pool)[] = [
  (n) => pool([1, n, 2, 3], [2, 2]),
  (n) => pool([1, 2, n], [Math.min(n, 3)]),
  (n) => pool([1, 2, 3, n], [2, Math.min(n, 2)], { strides: [1, 2] }),
  (n) => pool([1, 1, n, 3], [3, 3], { pads: [1, 1, 1, 1] }),
  (n) => pool([n, 1, 2, 2], [2, 1]),
  (n) => pool([1, 2, n], [n]),
];

const tailPools = <T>(dtype: DType, make: (pool: Pool, length: number) => T): readonly T[] =>
  lengths(dtype).map((length) => make(formAt(TAIL_POOLS, length)(length), length));

const LARGE_POOLS: readonly Pool[] = [
  pool([4_133, 1, 34], [2], { strides: [2] }),
  pool([1, 1, 66_002], [3]),
  pool([66_002, 1, 2], [2]),
  pool([1, 1_031, 70], [2], { strides: [2] }),
  pool([3, 2, 134, 132], [2, 2], { strides: [2, 2] }),
  pool([2, 1, 2_002], [1_001], { strides: [1_001] }),
];

const CUBE_POOLS: readonly Pool[] = [3, 4].flatMap((n) => {
  const whole = cube(n, 4);
  return [
    ...[[2, 2], [1, 2], [2, 1], [2, 3], [3, 2]].map((kernel) => pool(whole, kernel)),
    ...[[1, 2], [2, 1]].flatMap((two) => [
      pool(whole, [2, 2], { strides: two }),
      pool(whole, [2, 2], { dilations: two }),
    ]),
    ...[0, 1, 2, 3].map((end) => pool(whole, [2, 2], { pads: cube(0, 4).with(end, 1) })),
  ]; // biome-ignore format: one list a line
});

/** Whether all padding is shorter than the kernel, so that every window covers an element. */
const isCovered = (kernel: Shape, { pads }: Pick<Placed, "pads">): boolean =>
  pads.every((pad, at) => pad < (kernel[at % kernel.length] ?? 1));

/** Samples for every combination of a pooling op's options. With `ceilMode`, the last window may exceed an axis. */
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
            ? (maxPoolGradient(x, attributes, (shape) => randomData(draws, shape)) as never)
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
    tails: (draws) => tailPools(draws.dtype, ({ shape, window }) => sample(window, label(draws, shape))),
    sizes: () => LARGE_POOLS.map(({ shape, window }) => exact(window, shuffle(shape))),
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
        // A sum that accumulates in a half dtype would overflow, or stall.
        "sums-in-f32": [
          sample(
            { ...TWO, kernelShape: [16, 16], strides: [16, 16], countIncludePad: false },
            generate(draws.dtype, [1, 2, 16, 16], (at) => (at === 0 ? 4096 : 1024 + (at % 2))),
          ),
        ],
      };
    },
    tails: (draws) =>
      tailPools(draws.dtype, ({ shape, window }, length) =>
        sample({ ...window, countIncludePad: length % 2 === 0 }, terms(draws, shape)),
      ),
    sizes: () =>
      LARGE_POOLS.map(({ shape, window }) => sample({ ...window, countIncludePad: false }, whole(shape))),
    sides: (draws) =>
      CUBE_POOLS.map(({ shape, window }, at) =>
        sample({ ...window, countIncludePad: at % 2 === 0 }, terms(draws, shape)),
      ),
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
      const draw = (shape: Shape): HostTensor => randomData(draws, shape);
      const of = (pools: readonly Pool[], value: (at: number) => number) =>
        pools.map(({ shape, window }) => maxPoolGradient(generate(draws.dtype, shape, value), window, draw));
      const counted = (pools: readonly Pool[]) =>
        pools.map(({ shape, window }) => maxPoolGradient(countUp(draws.dtype, shape), window, draw));
      return {
        values: counted(POOLS),
        "ceiling-of-the-size": counted(CEILED),
        "pads-of-a-kernels-size": [
          ...counted(WIDELY_PADDED),
          ...of(WIDELY_PADDED, (at) => (at % 5 === 0 ? 1 : Number.NEGATIVE_INFINITY)),
        ],
        "of-equals-the-first": of(POOLS, (at) => at % 2),
        "all-equal": of(POOLS, () => 0),
        // A search that starts at -infinity finds nothing here, and then writes nowhere or before the plane.
        "nothing-but-negative-infinity": of(POOLS, () => Number.NEGATIVE_INFINITY),
      };
    },
    // Of one sign, so that sums in any order agree.
    tails: (draws) =>
      tailPools(draws.dtype, ({ shape, window }) =>
        maxPoolGradient(label(draws, shape), window, (of) => randomData(draws, of, 0.5, 1)),
      ),
    sizes: () =>
      LARGE_POOLS.map(({ shape, window }) => ({
        ...maxPoolGradient(shuffle(shape), window, whole),
        exact: true,
      })),
    sides: (draws) =>
      CUBE_POOLS.map(({ shape, window }) =>
        maxPoolGradient(label(draws, shape), window, (of) => randomData(draws, of)),
      ),
    options: poolOptions("MaxPoolGradient", {}),
    gradients: { none: "is the gradient of MaxPool, and tried there" },
  },
};
