/** Extreme values in operators that sum, normalize, search or move along an axis. */
import {
  type ComputeDType,
  type DType,
  floatFormats,
  type HostTensor,
  type LossReduction,
  type Op,
  type OpAttributes,
  type OpOf,
  type ReduceOp,
  type SoftmaxOp,
} from "@mp/graph";
import { generate, hostData, toNumbers } from "../host-data.js";
import { farValues } from "./far-values.js";
import { sample } from "./op-sample.js";
import { HALVES_TOO, type RareRow, rareRow } from "./rare-row.js";

const FAR = Number.POSITIVE_INFINITY;
type Rows = readonly (readonly number[])[];

/** Operands for each row: the row itself, and three columns that repeat it. */
const tables = (dtype: DType, rows: Rows): readonly (readonly [x: HostTensor, axis: number])[] =>
  rows.flatMap((row) => [
    [hostData(dtype, row, [1, row.length]), 1] as const,
    [generate(dtype, [row.length, 3], (at) => row[Math.floor(at / 3)] ?? 0), 0] as const,
  ]);

const fill = (count: number, x: number, last: number = x): readonly number[] =>
  Array.from({ length: count }, (_, at) => (at === count - 1 ? last : x));

function spread(dtype: DType): Rows {
  const { maxFinite } = floatFormats[dtype as ComputeDType];
  const far = Math.min(1e5, maxFinite);
  return [
    [maxFinite, maxFinite, maxFinite],
    [-maxFinite, -maxFinite],
    [maxFinite, -maxFinite, 0],
    [far, 0, -far],
    [-far, -far + far / 64, -far],
    fill(33, far, 0),
    fill(33, -far),
    [88, 89, -88, 104],
    [-103, -104, -105, -88],
    [-87, 0, -89],
    [-FAR, -FAR, 1],
    [-FAR, far, -far],
    fill(17, -FAR, -far),
    [FAR, 0],
    [far],
    [-FAR, Number.NaN],
    [0, -0],
  ];
}

const farRow = <K extends Op>(dtypes: readonly DType[], samples: RareRow<K>["samples"]): RareRow<K> =>
  rareRow("far-values", dtypes, samples);

export const farShares = <K extends SoftmaxOp>(): RareRow<K> =>
  farRow(HALVES_TOO, (dtype) =>
    tables(dtype, spread(dtype)).map(([x, axis]) => sample({ axis } as OpAttributes[K], x)),
  );

/** Numbers whose sum, square or product overflows f16 but not f32, and some whose squares are below f16. */
const BEYOND: Rows = [
  [60000, 60000, -60000],
  fill(8, 60000),
  [65504, 15],
  [65504, 16],
  [65504, 8, 8],
  [300, 300, 300, 300],
  [-300, 300, 2 ** -10],
  fill(33, 2048, 1),
  [40000, -40000, 0.5],
  fill(9, 2 ** -13),
];

/** The largest number of bf16, and the smallest that makes it infinite when added. */
const [LARGEST, TIE] = [floatFormats.bf16.maxFinite, 2 ** 119];

/** Numbers whose sum is finite in f32, and in bf16 is infinite or the largest number. */
const BEYOND_BF16: Rows = [
  [LARGEST, TIE],
  [LARGEST, TIE / 2],
  [-LARGEST, -TIE],
  [LARGEST / 2, LARGEST / 2, TIE],
];

const beyond = (dtype: DType): Rows => (dtype === "f16" ? BEYOND : BEYOND_BF16);

const reduction = (dtypes: readonly DType[], rows: (dtype: DType) => Rows): RareRow<ReduceOp> =>
  farRow(dtypes, (dtype) =>
    tables(dtype, rows(dtype)).map(([x, axis]) => sample({ axes: [axis], keepdims: false }, x)),
  );

export const farBeyondF16: RareRow<ReduceOp> = reduction(["f16"], beyond);
export const farBeyondHalves: RareRow<ReduceOp> = reduction(["f16", "bf16"], beyond);
export const farSpread: RareRow<ReduceOp> = reduction(HALVES_TOO, spread);

export const farCumSum: RareRow<"CumSum"> = farRow(["f16", "bf16"], (dtype) =>
  tables(dtype, [...beyond(dtype), [Number.NaN], [FAR, 1]]).flatMap(([x, axis]) =>
    [0, 1, 2, 3].map((bits) => sample({ axis, exclusive: bits > 1, reverse: bits % 2 === 1 }, x)),
  ),
);

/** Rows with weights of 1: their sums are at the end of bf16, or are rounded in it. */
const sums = [...BEYOND_BF16, [256, 1]].map((row) => [row, fill(row.length, 1)] as const);

/** Pairs of factors: [1, n] and [n, 1], or [5, n] and [n, 3]. */
const products = (dtype: DType): readonly (readonly [HostTensor, HostTensor])[] => {
  const factors: readonly (readonly [Rows[number], Rows[number]])[] = [
    [[65504, 15], [1, 1]],
    [[65504, 16], [1, 1]],
    [[300, 300, 1], [300, -300, 1]],
    [[256, 0], [256, 0]],
    [[60000, 60000, 60000], [1, 1, -1]],
    [[2 ** -14, 2 ** -14], [2 ** -10, 2 ** -11]],
    [[1, 2 ** -11, 2 ** -11], [1, 1, 1]],
  ]; // biome-ignore format: one pair a line
  const pairs = dtype === "f16" ? factors : sums;
  return pairs.flatMap(([a, b]) => [
    [hostData(dtype, a, [1, a.length]), hostData(dtype, b, [b.length, 1])],
    [
      generate(dtype, [5, a.length], (at) => a[at % a.length] ?? 0),
      generate(dtype, [b.length, 3], (at) => b[Math.floor(at / 3)] ?? 0),
    ],
  ]);
};

export const farMatMul: RareRow<"MatMul"> = farRow(["f16", "bf16"], (dtype) =>
  products(dtype).map(([a, b]) => sample({}, a, b)),
);

const farBias = (dtype: DType): number => (dtype === "f16" ? 60000 : 256);

/** A row as a column, or a column as a row. */
const turned = (line: HostTensor): HostTensor => ({ ...line, shape: line.shape.toReversed() });

export const farGemm: RareRow<"Gemm"> = farRow(["f16", "bf16"], (dtype) =>
  products(dtype).flatMap(([a, b]) =>
    [[1, 1, -1] as const, [1, 1, 1] as const, [0.5, 0, 1] as const].flatMap(([alpha, beta, sign]) =>
      (a.shape[0] === 1 ? [0, 1, 2, 3] : [0]).map((bits) => {
        const [transA, transB] = [bits % 2 === 1, bits > 1];
        const operands = [
          transA ? turned(a) : a,
          transB ? turned(b) : b,
          hostData(dtype, [sign * farBias(dtype)]),
        ];
        return sample<"Gemm">({ transA, transB, alpha, beta }, ...operands);
      }),
    ),
  ),
);

const image = (dtype: DType, row: readonly number[], rank = 2): HostTensor =>
  hostData(dtype, row, [...fill(rank + 1, 1), row.length]);
const window = { strides: [1, 1], pads: [0, 0, 0, 0], dilations: [1, 1] };

/** Rows and the weights that move along them. */
const FILTERED: readonly (readonly [Rows[number], Rows[number]])[] = [
  [[65504, 15, 65504, 16], [1, 1]],
  [[300, 300, 1, 300], [300, -300]],
  [[60000, 60000, 60000], [1, 1]],
]; // biome-ignore format: one pair a line

/** Lines, images and volumes; in f16 each also with a bias, which brings sums back into the range. */
export const farConv = <K extends "Conv" | "ConvTranspose">(isTransposed: boolean): RareRow<K> =>
  farRow(["f16", "bf16"], (dtype) =>
    [1, 2, 3].flatMap((rank) => {
      const [ones, zeros] = [fill(rank, 1), fill(rank, 0)];
      const moving = { strides: ones, pads: [...zeros, ...zeros], dilations: ones, group: 1 };
      const attributes = { ...moving, ...(isTransposed && { outputPadding: zeros }) };
      const bias = hostData(dtype, [-farBias(dtype)]);
      return (dtype === "f16" ? FILTERED : sums).flatMap(([x, w]) =>
        (dtype === "f16" ? [[], [bias]] : [[]]).map((rest) =>
          sample(attributes as OpAttributes[K], image(dtype, x, rank), image(dtype, w, rank), ...rest),
        ),
      );
    }),
  );

export const farEinsum: RareRow<"Einsum"> = farRow(["f16", "bf16"], (dtype) =>
  products(dtype).map(([a, b]) => sample({ equation: "ij,jk->ik" }, a, b)),
);

export const farAveragePool: RareRow<"AveragePool"> = farRow(["f16"], (dtype) =>
  BEYOND.map((row) =>
    sample({ ...window, kernelShape: [1, 2], ceilMode: false, countIncludePad: false }, image(dtype, row)),
  ),
);

/** Rows with a large mean and small variance, a single value, a variance far below ε, or extreme elements. */
function uneven(dtype: DType): Rows {
  const large = dtype === "f32" ? 4096 : dtype === "f16" ? 512 : 64;
  return [
    Array.from({ length: 16 }, (_, at) => large + (at % 2)),
    Array.from({ length: 33 }, (_, at) => -large + (at % 3)),
    fill(16, large),
    fill(7, -1e4),
    fill(8, 0),
    TINY,
    fill(9, 0, 30000),
    fill(9, 1, -1),
    Array.from({ length: 8 }, (_, at) => (at % 2 === 0 ? 60000 : -60000)),
    [1, Number.NaN, 3],
    [Number.NaN],
  ];
}

/** Numbers whose squares are subnormal or 0 in f16. */
const TINY = Array.from({ length: 8 }, (_, at) => (at - 3.5) * 2 ** -12);

const ones = (dtype: DType, count: number): HostTensor => generate(dtype, [count], () => 1);
const asRows = (dtype: DType, row: readonly number[]): HostTensor =>
  generate(dtype, [2, row.length], (at) => (row[at % row.length] ?? 0) * (at < row.length ? 1 : -1));

export const farLayers = <K extends "LayerNormalization" | "RMSNormalization">(): RareRow<K> =>
  farRow(HALVES_TOO, (dtype) =>
    [
      ...uneven(dtype).flatMap((row) => [2 ** -17, 1].map((epsilon) => [row, epsilon] as const)),
      [TINY, 2 ** -30] as const,
    ].map(([row, epsilon]) =>
      sample({ axis: 1, epsilon } as OpAttributes[K], asRows(dtype, row), ones(dtype, row.length)),
    ),
  );

export const farChannels: RareRow<"BatchNormalization"> = farRow(HALVES_TOO, (dtype) =>
  [...uneven(dtype).map((row) => [row, 2 ** -10] as const), [TINY, 2 ** -30] as const].map(([row, epsilon]) =>
    sample(
      { epsilon },
      generate(dtype, [row.length, 2], (at) => row[at >> 1] ?? 0),
      ones("f32", 2),
      generate("f32", [2], () => 0),
    ),
  ),
);

export const farLoss = <K extends OpOf<"loss">>(): RareRow<K> =>
  farRow(HALVES_TOO, (dtype) => {
    const far = dtype === "f16" ? 60000 : 1e5;
    const scores: Rows = [
      [far, 0, -far],
      [0, far, far],
      [-far, -far, -far],
      [-FAR, 0, 1],
      [88, -88, 104],
      [0, -FAR, -FAR],
    ];
    const of = (labels: readonly number[], reduction: LossReduction) =>
      sample(
        { reduction } as OpAttributes[K],
        hostData(dtype, scores.flat(), [scores.length, 3]),
        hostData("i32", labels),
      );
    return [
      ...(["mean", "sum", "none"] as const).map((reduction) => of([0, 1, 2, 2, 2, 0], reduction)),
      of([2, 0, 1, 1, 1, 0], "none"),
    ];
  });

/** The f32 numbers nearest to the ends of i32 and i64, and fractions that truncate to integers at the ends of u8. */
const NEAREST = [-(2 ** 31), 2 ** 31 - 128, -(2 ** 63), 2 ** 63 - 2 ** 39, 255.875, 254.5, -0.75];

const RANGES: readonly (readonly [to: DType, low: number, high: number])[] = [
  ["i32", -(2 ** 31), 2 ** 31 - 128],
  ["i64", -(2 ** 63), 2 ** 63 - 2 ** 39],
  ["u8", -0.75, 255.875],
];

/** Casts of extreme numbers; a cast to an integer dtype has only numbers within its range. */
export const farCast: RareRow<"Cast"> = farRow(HALVES_TOO, (dtype) => {
  const { maxFinite } = floatFormats[dtype as ComputeDType];
  const numbers = [...farValues(dtype as ComputeDType), ...NEAREST];
  const within = (low: number, high: number): readonly number[] =>
    numbers.filter((x) => {
      const [rounded = 0] = toNumbers(hostData(dtype, [x]));
      return rounded >= low && rounded <= high && Math.abs(rounded) <= maxFinite;
    });
  return [
    ...RANGES.map(([to, low, high]) => sample<"Cast">({ to }, hostData(dtype, within(low, high)))),
    ...(["bool", "f32", "f16", "bf16"] as const).map((to) =>
      sample<"Cast">({ to }, hostData(dtype, numbers)),
    ),
  ];
});

type Steps = readonly [start: number, limit: number, delta: number];

const TENTHS: readonly Steps[] = [[0, 1000, 0.1], [-300, 700, 1 / 3], [100, -100, -0.07]]; // biome-ignore format: one list
const TENTHS_OF_HALVES: readonly Steps[] = [[0, 10, 0.1], [5, -5, -0.3]]; // biome-ignore format: one list
const whole = (large: number): readonly Steps[] => [[-5, 3000, 7], [2000, -2000, -3], [large, large + 50, 7]]; // biome-ignore format: one list

const LONG_RANGES: Readonly<Partial<Record<DType, readonly Steps[]>>> = {
  f32: TENTHS,
  f16: TENTHS_OF_HALVES,
  bf16: TENTHS_OF_HALVES,
  i32: whole(2 ** 30),
  i64: whole(2 ** 40),
  u64: [[2 ** 40, 2 ** 40 + 50, 7]],
};

/** Ranges so long that repeated addition of the step loses digits. */
export const longRange: RareRow<"Range"> = rareRow(
  "long-steps",
  Object.keys(LONG_RANGES) as DType[],
  (dtype) =>
    (LONG_RANGES[dtype] ?? []).map(([start, limit, delta]) => sample({ start, limit, delta, dtype })),
);
