/** Reductions and searches. NaN at every position is a file of its own. */
import {
  type DType,
  type HostTensor,
  isComputeFloat,
  isFloat,
  isHalf,
  type Op,
  type OpAttributes,
  type Shape,
} from "@mp/core";
import type { RandomSource } from "../random-source.js";
import { generated, hostData, randomData, specialValues } from "./host-data.js";
import {
  type Behaviours,
  counted,
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

const EMPTY: readonly Extent[] = [
  { shape: [0], axes: [0], keepdims: false },
  { shape: [2, 0, 3], axes: [1], keepdims: false },
  { shape: [2, 0], axes: [0, 1], keepdims: true },
];

type ReduceOp = Extract<Op, `Reduce${string}`>;
type Draw = (random: RandomSource, dtype: DType, shape: Shape) => HostTensor;

interface Options {
  readonly draw?: Draw;
  /** What is reduced exactly in any order; left out where nothing is. */
  readonly exactDraw?: Draw;
  /** The reduction of no elements has a value. */
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
        ...(exactDraw !== undefined && isNumber
          ? { "whole-numbers-are-exact": over(EXTENTS, (shape) => exactDraw(random, dtype, shape), true) }
          : {}),
        ...(ofNothing ? { "no-elements": over(EMPTY, (shape) => generated(dtype, shape, () => 1)) } : {}),
        ...more?.(dtype),
      };
      // One kind of attributes for all reductions.
      return behaviours as unknown as Behaviours<K>;
    },
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

/** Sums of exponentials of numbers that are far out must not overflow on the way. */
const farOut = (dtype: DType): Readonly<Record<string, readonly OpSample<ReduceOp>[]>> => ({
  "nothing-overflows-on-the-way": [
    along(dtype, [[1000, 1000.5, 999], [-1000, -1001, -1002], [-INFINITE, 0, 1], [0, 0, INFINITE]]),
    along(dtype, [[-INFINITE, -INFINITE]]),
  ], // biome-ignore format: one row a list
});

/** Both searches break ties alike. */
function search<K extends "ArgMax" | "ArgMin">(): OpRow<K> {
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

/** A shuffle of whole numbers: no ties. */
function distinct(random: RandomSource, dtype: DType, shape: Shape): HostTensor {
  const size = shape.reduce((product, dimension) => product * dimension, 1);
  const order = Array.from({ length: size }, (_, at) => at);
  for (let at = size - 1; at > 0; at--) {
    const other = random.integer(0, at);
    const swapped = order[at] as number;
    order[at] = order[other] as number;
    order[other] = swapped;
  }
  return hostData(dtype, order, shape);
}

const cumulative = (axis: number, exclusive = false, reverse = false): OpAttributes["CumSum"] => ({
  axis,
  exclusive,
  reverse,
});

export const reduceSamples: OpRows<ReduceOp | "ArgMax" | "ArgMin" | "TopK" | "CumSum"> = {
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
