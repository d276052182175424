/** Ties and NaN in searches and comparisons, and small results. */
import type { DType, HostTensor, OpAttributes, Shape, SoftmaxOp } from "@mp/graph";
import { generate, hostData } from "../host-data.js";
import { sample } from "./op-sample.js";
import { HALVES_TOO, type RareRow, rareRow } from "./rare-row.js";

const INFINITE = Number.POSITIVE_INFINITY;

const nan = Number.NaN;

const nanRows = (dtype: DType): HostTensor => {
  const rows = [
    [nan, 1, nan, 2, 1, -INFINITE, 2, nan, INFINITE],
    [0, -0, 0, -0, 1, -1, 0, 1, -1],
    [nan, nan, nan, nan, nan, nan, nan, nan, nan],
    [INFINITE, nan, INFINITE, -INFINITE, -INFINITE, nan, 3, 3, 3],
  ];
  return hostData(dtype, rows.flat(), [4, 9]);
};

const either = [true, false];

/** NaN counts as larger than every number. Equal elements, including NaN and zeros of any sign, keep their order. */
export const nanInTopK: readonly RareRow<"TopK">[] = [
  rareRow("nan-and-equals-either-way", HALVES_TOO, (dtype) => {
    const x = nanRows(dtype);
    return either.flatMap((largest) => [1, 3, 5, 9].map((k) => sample({ axis: 1, k, largest }, x)));
  }),
  rareRow("nan-down-the-columns", HALVES_TOO, (dtype) => {
    const x = nanRows(dtype);
    return either.map((largest) => sample({ axis: 0, k: 3, largest }, x));
  }),
];

/** The left tail of a function: 120 arguments from -3 down to almost -18. */
export const leftTail = <K extends "Sigmoid" | "Softplus" | "Elu">(attributes: OpAttributes[K]): RareRow<K> =>
  rareRow("small-results", HALVES_TOO, (dtype) => [
    sample(
      attributes,
      generate(dtype, [120], (at) => -3 - at / 8),
    ),
  ]);

export const smallShares = <K extends SoftmaxOp>(): RareRow<K> =>
  rareRow("small-results", HALVES_TOO, (dtype) => {
    const far = dtype === "f16" ? 16 : 80;
    const rows = generate(dtype, [9, 7], (at) => -((at * 5) % 7) * (far / 7) * (1 + Math.floor(at / 7) / 9));
    return [1, 0].map((axis) => sample({ axis } as OpAttributes[K], rows));
  });

const SCALARS: readonly Shape[] = [[], [1], [4], [3, 1], [3, 4], [2, 3, 4], [2, 1, 4]];

/** NaN as either operand, in every pair of shapes; the other operand is a number, an infinity or zero. */
export const nanOnEitherSide = <K extends "Max" | "Min">(): RareRow<K> =>
  rareRow("nan-on-either-side", HALVES_TOO, (dtype) => {
    const numbers = [1, INFINITE, -INFINITE, 0, -3];
    const withNan = (shape: Shape): HostTensor => generate(dtype, shape, (at) => (at % 2 === 0 ? nan : at));
    const plain = (shape: Shape, offset: number): HostTensor =>
      generate(dtype, shape, (at) => numbers[(at + offset) % numbers.length] ?? 0);
    const pairs = SCALARS.flatMap((a, i) => SCALARS.map((b, j) => [a, b, i + j] as const));
    return pairs.flatMap(([a, b, offset]) => [
      sample({} as OpAttributes[K], withNan(a), plain(b, offset)),
      sample({} as OpAttributes[K], plain(a, offset), withNan(b)),
    ]);
  });

export const zerosInTopK: RareRow<"TopK"> = rareRow("zeros-of-either-sign", HALVES_TOO, (dtype) =>
  either.flatMap((largest) =>
    [
      [-0, 0, -0, 0],
      [0, -0, 0, -0],
      [-0, 0, -1, 1],
      [0, -0, nan, -0],
    ].flatMap((row) => [
      sample({ axis: 0, k: 4, largest }, hostData(dtype, row)),
      sample({ axis: 0, k: 2, largest }, hostData(dtype, row)),
      sample(
        { axis: 0, k: 4, largest },
        generate(dtype, [4, 3], (at) => row[Math.floor(at / 3)] ?? 0),
      ),
    ]),
  ),
);
