/** Reductions and searches. NaN at every position has its own file. */

import type { DType, HostTensor, Shape } from "@mp/core";
import {
  type ArgOp,
  isComputeFloat,
  isFloat,
  isHalf,
  type OpAttributes,
  type OpOf,
  type ReduceOp,
} from "@mp/core/graph";
import { generated, hostData, integerExtremes, randomData, specialValues } from "../host-data.js";
import type { RandomSource } from "../random-source.js";
import {
  type Behaviours,
  counted,
  distinct,
  type OpRow,
  type OpRows,
  type OpSample,
  positives,
  smallIntegers,
} from "./op-sample.js";

interface Extent {
  readonly shape: Shape;
  readonly axes: readonly number[];
  readonly keepdims: boolean;
}

const EXTENTS: readonly Extent[] = [
  { shape: [], axes: [], keepdims: false },
  { shape: [5], axes: [0], keepdims: false },
  { shape: [5], axes: [0], keepdims: true },
  { shape: [1], axes: [0], keepdims: false },
  { shape: [2, 3], axes: [0], keepdims: false },
  { shape: [2, 3], axes: [1], keepdims: true },
  { shape: [2, 3], axes: [0, 1], keepdims: false },
  { shape: [2, 3, 4], axes: [0, 2], keepdims: true },
  { shape: [2, 3, 4], axes: [1], keepdims: false },
  { shape: [2, 1, 3, 2, 2], axes: [1, 3], keepdims: false },
  { shape: [0, 3], axes: [1], keepdims: false },
  { shape: [67], axes: [0], keepdims: false },
];

/** Without axes each element is reduced by itself, not all elements together. */
const OVER_NONE: readonly Extent[] = [
  { shape: [2, 3], axes: [], keepdims: false },
  { shape: [2, 1, 3], axes: [], keepdims: true },
  { shape: [0, 3], axes: [], keepdims: false },
];

const EMPTY: readonly Extent[] = [
  { shape: [0], axes: [0], keepdims: false },
  { shape: [2, 0, 3], axes: [1], keepdims: false },
  { shape: [2, 0], axes: [0, 1], keepdims: true },
];
type Draw = (random: RandomSource, dtype: DType, shape: Shape) => HostTensor;

interface Options {
  readonly draw?: Draw;
  /** Data whose reduction is exact in any order; omitted where there is none. */
  readonly exactDraw?: Draw;
  /** Whether the reduction of no elements has a value. */
  readonly ofNothing?: boolean;
  readonly more?: (dtype: DType) => Readonly<Record<string, readonly OpSample<ReduceOp>[]>>;
}

const over = (
  extents: readonly Extent[],
  draw: (shape: Shape) => HostTensor,
  exact = false,
): readonly OpSample<ReduceOp>[] =>
  extents.map(({ shape, axes, keepdims }) => ({
    attributes: { axes, keepdims },
    inputs: [draw(shape)],
    exact,
  }));

function row<K extends ReduceOp>({
  draw = positives,
  exactDraw,
  ofNothing = false,
  more,
}: Options): OpRow<K> {
  return {
    samples: (dtype, random) => {
      const isNumber = isFloat(dtype);
      const behaviours: Behaviours<ReduceOp> = {
        values: over(EXTENTS, (shape) => (isNumber ? draw(random, dtype, shape) : counted(dtype, shape))),
        "over-no-axes": over(OVER_NONE, (shape) =>
          isNumber ? draw(random, dtype, shape) : counted(dtype, shape),
        ),
        ...(exactDraw !== undefined && isNumber
          ? { "whole-numbers-are-exact": over(EXTENTS, (shape) => exactDraw(random, dtype, shape), true) }
          : {}),
        ...integerRows(dtype),
        ...(ofNothing ? { "no-elements": over(EMPTY, (shape) => generated(dtype, shape, () => 1)) } : {}),
        ...more?.(dtype),
      };
      // One kind of attributes for all reductions.
      return behaviours as unknown as Behaviours<K>;
    },
  };
}

/** Extremes along the last axis, the first and both; rows of many equal ones; sums and products that wrap. */
function integerRows(dtype: DType): Readonly<Record<string, readonly OpSample<ReduceOp>[]>> {
  const ends = integerExtremes[dtype];
  if (ends === undefined) return {};
  const count = ends.length;
  // Row k starts with the k-th of them, so that each appears at each position.
  const table = generated(dtype, [count, count], (at) => ends[(at + Math.floor(at / count)) % count] ?? 0n);
  const each = [[0], [1], [0, 1]].map((axes) => ({
    attributes: { axes, keepdims: false },
    inputs: [table],
  }));
  const equal = ends.flatMap((end) =>
    [0, 1].map((axis) => ({
      attributes: { axes: [axis], keepdims: true },
      inputs: [generated(dtype, axis === 0 ? [19, 3] : [3, 19], () => end)],
    })),
  );
  return { extremes: [...each, ...equal], ...sameHighWord(dtype) };
}

/** 64-bit integers with one high word, whose low words are ordered differently when compared as signed. */
function sameHighWord(dtype: DType): Readonly<Record<string, readonly OpSample<ReduceOp>[]>> {
  if (dtype !== "i64" && dtype !== "u64") return {};
  const low = [5n, 2n ** 31n, 7n, 2n ** 31n + 9n, 2n ** 32n - 1n, 1n, 2n ** 31n - 1n];
  const word = (at: number): bigint => 3n * 2n ** 32n + (low[at % low.length] ?? 0n);
  return {
    "words-of-one-high-half": [3, 8, 16, 64, 70].flatMap((size) => [
      { attributes: { axes: [0], keepdims: false }, inputs: [generated(dtype, [size], word)] },
      { attributes: { axes: [1], keepdims: false }, inputs: [generated(dtype, [3, size], word)] },
      { attributes: { axes: [0], keepdims: false }, inputs: [generated(dtype, [size, 5], word)] },
    ]),
  };
}

const along = (dtype: DType, rows: readonly (readonly number[])[]): OpSample<ReduceOp> => ({
  attributes: { axes: [1], keepdims: false },
  inputs: [hostData(dtype, rows.flat(), [rows.length, (rows[0] ?? []).length])],
});

const INFINITE = Number.POSITIVE_INFINITY;
const infinities = (dtype: DType): Readonly<Record<string, readonly OpSample<ReduceOp>[]>> =>
  isFloat(dtype) ? { infinities: [along(dtype, [[1, INFINITE, 2], [-INFINITE, 1, 2], [-INFINITE, INFINITE, 0]])] } : {}; // biome-ignore format: one row a list

const extremes = (dtype: DType): Readonly<Record<string, readonly OpSample<ReduceOp>[]>> =>
  isComputeFloat(dtype)
    ? {
        specials: [
          along(dtype, [specialValues(dtype).filter((x) => !Number.isNaN(x))]),
          along(dtype, [[-INFINITE, -INFINITE], [INFINITE, INFINITE], [-INFINITE, 1]]),
        ],
      } // biome-ignore format: one row a list
    : {};

/** Sums of exponentials of large numbers must not overflow in intermediate values. */
const farOut = (dtype: DType): Readonly<Record<string, readonly OpSample<ReduceOp>[]>> => ({
  "nothing-overflows-on-the-way": [
    along(dtype, [[1000, 1000.5, 999], [-1000, -1001, -1002], [-INFINITE, 0, 1], [0, 0, INFINITE]]),
    along(dtype, [[-INFINITE, -INFINITE]]),
  ], // biome-ignore format: one row a list
});

/** Both searches break ties in the same way. */
function search<K extends ArgOp>(): OpRow<K> {
  const at = (axis: number, keepdims: boolean, x: HostTensor) => ({
    attributes: { axis, keepdims },
    inputs: [x],
  });
  return {
    samples: (dtype, random) => ({
      values: [
        at(0, false, distinct(random, dtype, [7])),
        at(1, true, distinct(random, dtype, [2, 5])),
        at(0, false, distinct(random, dtype, [4, 3])),
        at(1, false, distinct(random, dtype, [2, 4, 3])),
        at(0, false, distinct(random, dtype, [1])),
        at(1, false, distinct(random, dtype, [0, 3])),
      ],
      "first-of-equals": [at(1, false, hostData(dtype, [3, 1, 3, 1, 2, 2, 2, 2, 1, 1, 3, 3], [3, 4]))],
      ...integerSearches(dtype, (table, axis) => at(axis, false, table)),
      ...(isFloat(dtype)
        ? {
            infinities: [
              at(1, false, hostData(dtype, [1, INFINITE, -INFINITE, 0, -INFINITE, -INFINITE], [2, 3])),
            ],
          }
        : {}),
    }),
  };
}

/** A search along either axis among the extremes of integers. */
function integerSearches<S>(
  dtype: DType,
  sample: (table: HostTensor, axis: number) => S,
): Readonly<Record<string, readonly S[]>> {
  const ends = integerExtremes[dtype];
  if (ends === undefined) return {};
  const count = ends.length;
  const table = generated(
    dtype,
    [count, count],
    (at) => ends[(at + 3 * Math.floor(at / count)) % count] ?? 0n,
  );
  return { extremes: [0, 1].map((axis) => sample(table, axis)) };
}

const cumulative = (axis: number, exclusive = false, reverse = false): OpAttributes["CumSum"] => ({
  axis,
  exclusive,
  reverse,
});

export const reduceSamples: OpRows<OpOf<"reduce">> = {
  ReduceSum: row({ exactDraw: smallIntegers, ofNothing: true, more: infinities }),
  ReduceMean: row({ more: infinities }),
  ReduceMax: row({ draw: randomData, more: extremes }),
  ReduceMin: row({ draw: randomData, more: extremes }),
  ReduceProd: row({
    draw: (random, dtype, shape) => randomData(random, dtype, shape, 0.9, 1.1),
    ofNothing: true,
    more: infinities,
  }),
  ReduceL1: row({ draw: randomData, exactDraw: smallIntegers, ofNothing: true, more: infinities }),
  ReduceL2: row({ draw: randomData, ofNothing: true, more: infinities }),
  ReduceLogSum: row({ ofNothing: true }),
  ReduceLogSumExp: row({ draw: randomData, ofNothing: true, more: farOut }),
  ReduceSumSquare: row({ draw: randomData, exactDraw: smallIntegers, ofNothing: true, more: infinities }),
  ArgMax: search(),
  ArgMin: search(),
  TopK: {
    samples: (dtype, random) => {
      const at = (axis: number, k: number, largest: boolean, x: HostTensor) => ({
        attributes: { axis, k, largest },
        inputs: [x],
      });
      return {
        values: [true, false].flatMap((largest) => [
          at(0, 3, largest, distinct(random, dtype, [7])),
          at(1, 5, largest, distinct(random, dtype, [2, 5])),
          at(0, 1, largest, distinct(random, dtype, [4, 3])),
          at(1, 2, largest, distinct(random, dtype, [2, 4, 3])),
        ]),
        "equals-keep-their-order": [true, false].map((largest) =>
          at(1, 4, largest, hostData(dtype, [2, 1, 2, 1, 2, 3, 3, 3, 3, 3], [2, 5])),
        ),
        // No rows: an axis other than the searched one is empty.
        "no-rows": [true, false].flatMap((largest) => [
          at(1, 2, largest, hostData(dtype, [], [0, 3])),
          at(0, 2, largest, hostData(dtype, [], [3, 0])),
          at(1, 1, largest, hostData(dtype, [], [2, 1, 0])),
        ]),
        ...integerSearches(dtype, (table, axis) => at(axis, 3, true, table)),
      };
    },
  },
  CumSum: {
    samples: (dtype, random) => {
      const flags = [
        cumulative(0),
        cumulative(0, true),
        cumulative(0, false, true),
        cumulative(0, true, true),
      ];
      const draw = isFloat(dtype)
        ? positives
        : (_: RandomSource, d: DType, shape: Shape) => counted(d, shape);
      return {
        values: [
          ...flags.map((attributes) => ({ attributes, inputs: [draw(random, dtype, [9])] })),
          { attributes: cumulative(1), inputs: [draw(random, dtype, [2, 5, 3])] },
          { attributes: cumulative(2, true), inputs: [draw(random, dtype, [2, 2, 4])] },
          { attributes: cumulative(0), inputs: [draw(random, dtype, [0, 3])] },
          { attributes: cumulative(1), inputs: [draw(random, dtype, [1, 1])] },
        ],
        ...integerSearches(dtype, (table, axis) => ({ attributes: cumulative(axis), inputs: [table] })),
        ...(isFloat(dtype)
          ? {
              "whole-numbers-are-exact": flags.map((attributes) => ({
                attributes,
                inputs: [smallIntegers(random, dtype, [isHalf(dtype) ? 40 : 67])],
                exact: true,
              })),
            }
          : {}),
      };
    },
  },
};
