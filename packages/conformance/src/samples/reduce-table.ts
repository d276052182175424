/** Reductions, searches and cumulative sums. Another file has NaN at every position. */
import {
  type ArgOp,
  type DType,
  elementCount,
  type HostTensor,
  isComputeFloat,
  isFloat,
  isHalf,
  type Op,
  type OpAttributes,
  type OpOf,
  type ReduceOp,
  type Shape,
  type Tensor,
} from "@mp/graph";
import * as ops from "@mp/graph/ops";
import { type Draws, generate, hostData, integerExtremes, randomData, specialValues } from "../host-data.js";
import { type AxisSamples, alongEach, subsets } from "./axis-data.js";
import { farBeyondF16, farBeyondHalves, farCumSum, farSpread } from "./far-rows.js";
import {
  type GradientSample,
  type Gradients,
  gradient,
  type Point,
  PREDICATE,
  pointAt,
  positivePoint,
  spread,
  twice,
} from "./gradient-sample.js";
import type { CommonRow, GeneratedRow, OpRow, OpTable, SizeRow } from "./op-row.js";
import {
  type Behaviours,
  countUp,
  distinct,
  exact,
  type OpSample,
  positives,
  type Sampled,
  sample,
  smallIntegers,
} from "./op-sample.js";
import { counting, LONG, natural, ROWS, shuffle, TALL, WIDE, whole } from "./size-data.js";
import { nanInTopK, zerosInTopK } from "./small-results.js";
import { chooseSubnormals, reducedSubnormals } from "./subnormals.js";
import { drawBetween, formAt, label, lengths, setElements, terms } from "./tail-data.js";

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

/** Reductions without axes, which reduce each element separately, not all elements together. */
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

type Draw = (draws: Draws, shape: Shape) => HostTensor;

interface Options {
  readonly draw?: Draw;
  /** Draws data whose reduction is exact in any order, if such data exists. */
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

function reduceSamples<K extends ReduceOp>({
  draw = positives,
  exactDraw,
  ofNothing = false,
  more,
}: Options): Sampled<K> {
  return (draws) => {
    const isNumber = isFloat(draws.dtype);
    const behaviours: Behaviours<ReduceOp> = {
      values: over(EXTENTS, (shape) => (isNumber ? draw(draws, shape) : countUp(draws.dtype, shape))),
      "over-no-axes": over(OVER_NONE, (shape) =>
        isNumber ? draw(draws, shape) : countUp(draws.dtype, shape),
      ),
      ...(exactDraw !== undefined && isNumber
        ? { "whole-numbers-are-exact": over(EXTENTS, (shape) => exactDraw(draws, shape), true) }
        : {}),
      ...integerRows(draws.dtype),
      ...(ofNothing ? { "no-elements": over(EMPTY, (shape) => generate(draws.dtype, shape, () => 1)) } : {}),
      ...more?.(draws.dtype),
    };
    // All reductions have the same attributes.
    return behaviours as unknown as Behaviours<K>;
  };
}

/** Extremes along the last axis, the first and both, rows of equal extremes, and sums and products that wrap. */
function integerRows(dtype: DType): Readonly<Record<string, readonly OpSample<ReduceOp>[]>> {
  const ends = integerExtremes[dtype];
  if (ends === undefined) return {};
  const count = ends.length;
  // Row k starts with the k-th extreme, so that each extreme appears at each position.
  const table = generate(dtype, [count, count], (at) => ends[(at + Math.floor(at / count)) % count] ?? 0n);
  const each = [[0], [1], [0, 1]].map((axes) => sample<ReduceOp>({ axes, keepdims: false }, table));
  const equal = ends.flatMap((end) =>
    [0, 1].map((axis) =>
      sample<ReduceOp>(
        { axes: [axis], keepdims: true },
        generate(dtype, axis === 0 ? [19, 3] : [3, 19], () => end),
      ),
    ),
  );
  return { extremes: [...each, ...equal], ...sameHighWord(dtype) };
}

/** 64-bit integers with equal high words, whose low words have another order when compared as signed. */
function sameHighWord(dtype: DType): Readonly<Record<string, readonly OpSample<ReduceOp>[]>> {
  if (dtype !== "i64" && dtype !== "u64") return {};
  const low = [5n, 2n ** 31n, 7n, 2n ** 31n + 9n, 2n ** 32n - 1n, 1n, 2n ** 31n - 1n];
  const word = (at: number): bigint => 3n * 2n ** 32n + (low[at % low.length] ?? 0n);
  return {
    "words-of-one-high-half": [3, 8, 16, 64, 70].flatMap((size) => [
      sample({ axes: [0], keepdims: false }, generate(dtype, [size], word)),
      sample({ axes: [1], keepdims: false }, generate(dtype, [3, size], word)),
      sample({ axes: [0], keepdims: false }, generate(dtype, [size, 5], word)),
    ]),
  };
}

const rowsAlong = (dtype: DType, rows: readonly (readonly number[])[]): OpSample<ReduceOp> =>
  sample({ axes: [1], keepdims: false }, hostData(dtype, rows.flat(), [rows.length, (rows[0] ?? []).length]));

const INFINITE = Number.POSITIVE_INFINITY;

const infinities = (dtype: DType): Readonly<Record<string, readonly OpSample<ReduceOp>[]>> =>
  isFloat(dtype) ? { infinities: [rowsAlong(dtype, [[1, INFINITE, 2], [-INFINITE, 1, 2], [-INFINITE, INFINITE, 0]])] } : {}; // biome-ignore format: one row a list

const extremes = (dtype: DType): Readonly<Record<string, readonly OpSample<ReduceOp>[]>> =>
  isComputeFloat(dtype)
    ? {
        specials: [
          rowsAlong(dtype, [specialValues(dtype).filter((x) => !Number.isNaN(x))]),
          rowsAlong(dtype, [[-INFINITE, -INFINITE], [INFINITE, INFINITE], [-INFINITE, 1]]),
        ],
      } // biome-ignore format: one row a list
    : {};

/** Large numbers whose exponentials must not overflow in intermediate values. */
const farOut = (dtype: DType): Readonly<Record<string, readonly OpSample<ReduceOp>[]>> => ({
  "nothing-overflows-on-the-way": [
    rowsAlong(dtype, [[1000, 1000.5, 999], [-1000, -1001, -1002], [-INFINITE, 0, 1], [0, 0, INFINITE]]),
    rowsAlong(dtype, [[-INFINITE, -INFINITE]]),
  ], // biome-ignore format: one row a list
});

/** Samples for both searches, which break ties in the same way. */
function searchValues<K extends ArgOp>(): Sampled<K> {
  const at = (axis: number, keepdims: boolean, x: HostTensor) =>
    sample<K>({ axis, keepdims } as OpAttributes[K], x);
  return (draws) => ({
    values: [
      at(0, false, distinct(draws, [7])),
      at(1, true, distinct(draws, [2, 5])),
      at(0, false, distinct(draws, [4, 3])),
      at(1, false, distinct(draws, [2, 4, 3])),
      at(0, false, distinct(draws, [1])),
      at(1, false, distinct(draws, [0, 3])),
    ],
    "first-of-equals": [at(1, false, hostData(draws.dtype, [3, 1, 3, 1, 2, 2, 2, 2, 1, 1, 3, 3], [3, 4]))],
    ...integerSearches(draws.dtype, (table, axis) => at(axis, false, table)),
    ...(isFloat(draws.dtype) && {
      infinities: [
        at(1, false, hostData(draws.dtype, [1, INFINITE, -INFINITE, 0, -INFINITE, -INFINITE], [2, 3])),
      ],
    }),
  });
}

/** Searches among integer extremes, along either axis. */
function integerSearches<S>(
  dtype: DType,
  sample: (table: HostTensor, axis: number) => S,
): Readonly<Record<string, readonly S[]>> {
  const ends = integerExtremes[dtype];
  if (ends === undefined) return {};
  const count = ends.length;
  const table = generate(
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

type TailExtent = readonly [shape: Shape, axes: readonly number[]];

/** A reduction along the last axis. */
const rowsOfLength = (n: number): TailExtent => [[3, n], [1]];

const OTHERS: readonly ((length: number) => TailExtent)[] = [
  (n) => [[n], [0]],
  (n) => [[n, 3], [0]],
  (n) => [[3, n], [0]],
  (n) => [[2, n], [0, 1]],
  (n) => [[2, n, 3], [1]],
  (n) => [[2, 3, n], [0, 2]],
  (n) => [[n, 2], [1]],
  (n) => [[2, 2, n], [1, 2]],
]; // biome-ignore format: one form a line

function reduceTail<K extends ReduceOp>(draw: Draw, isExact: boolean): GeneratedRow<K> {
  return (draws) =>
    lengths(draws.dtype).flatMap((length) =>
      [rowsOfLength(length), formAt(OTHERS, length)(length)].map(([shape, axes], at): OpSample<K> => {
        const attributes = { axes, keepdims: length % 2 === 0 } as unknown as OpAttributes[K];
        const x = draw(draws, shape);
        // The last row ends in NaN.
        const input = at === 0 && isFloat(draws.dtype) ? setElements(x, Number.NaN, 3 * length - 1) : x;
        return (isExact ? exact<K> : sample<K>)(attributes, input);
      }),
    );
}

const fromOneToFour: Draw = (draws, shape) => generate(draws.dtype, shape, () => draws.random.integer(1, 4));

const anyTerms: Draw = (draws, shape) => terms(draws, shape);

/** Powers of two other than 1 whose products stay near 1, or odd integers whose products wrap. */
const tailFactors: Draw = (draws, shape) => {
  if (!isComputeFloat(draws.dtype))
    return generate(draws.dtype, shape, () => 2 * draws.random.integer(1, 4) + 1);
  let exponent = 0;
  return generate(draws.dtype, shape, () => {
    const step = draws.random.integer(1, 2) * (exponent > 0 ? -1 : 1);
    exponent += step;
    return 2 ** step * (draws.random.next() < 0.5 ? 1 : -1);
  });
};

/** Unordered elements, all different along an axis; the last one is the largest or the smallest. */
const extreme: Draw = (draws, shape) => {
  const x = label(draws, shape);
  const last = elementCount(shape, "test data") - 1;
  const [low, high] = draws.dtype === "u8" || draws.dtype === "u64" ? [0, 255] : [-127, 127];
  // The first row ends in the largest; the last two end in the largest or the smallest.
  const along = shape.at(-1) ?? 1;
  return setElements(
    setElements(x, high, along - 1),
    draws.random.next() < 0.5 ? low : high,
    last - along,
    last,
  );
};

function searchTail<K extends Op>(
  attributes: (axis: number, length: number) => OpAttributes[K],
): GeneratedRow<K> {
  return (draws) =>
    lengths(draws.dtype).flatMap((length) =>
      ([[[3, length], 1], formAt([[[length], 0], [[length, 3], 0], [[2, length, 3], 1]] as const, length)] as const).map(
        ([shape, axis]) => sample<K>(attributes(axis, length), extreme(draws, [...shape])),
      ),
    ); // biome-ignore format: one list of forms
}

const LARGE_EXTENTS: readonly (readonly [shape: Shape, axes: readonly number[]])[] = [
  [LONG, [0]],
  [TALL, [0]],
  [TALL, [1]],
  [WIDE, [0, 1]],
  [WIDE, [1]],
  [ROWS, [1]],
  [[3, 1_031, 23], [1]],
]; // biome-ignore format: one extent a line

function reduceSizes<K extends ReduceOp>(make: (shape: Shape) => HostTensor, isExact: boolean): SizeRow<K> {
  const of = isExact ? exact : sample;
  // All reductions have the same attributes.
  const samples = () =>
    LARGE_EXTENTS.map(([shape, axes]) => of<ReduceOp>({ axes, keepdims: false }, make(shape)));
  return samples as unknown as SizeRow<K>;
}

/** Factors 1 and -1, and sometimes 2, so that products are exact and at most 2^70. */
const manyFactors = (shape: Shape): HostTensor =>
  generate("f32", shape, (at) => (at % 997 === 996 ? 2 : at % 3 === 0 ? -1 : 1));

/** Numbers whose exponentials are 1 and 0. */
const onesAndZeros = (shape: Shape): HostTensor => generate("f32", shape, (at) => (at % 5 < 2 ? 0 : -200));

/** Searches for an element that is last, first, or anywhere. */
function searchSizes<K extends ArgOp>(): SizeRow<K> {
  const of = (axis: number, x: HostTensor) => sample({ axis, keepdims: false }, x);
  const samples = () => [
    of(0, counting(LONG)),
    of(0, counting(LONG, -1)),
    ...[LONG, TALL].map((shape) => of(0, shuffle(shape))),
    ...[TALL, WIDE, ROWS].map((shape) => of(1, shuffle(shape))),
    of(1, counting(WIDE, -1)),
  ];
  return samples as unknown as SizeRow<K>;
}

/** Factors whose products are exact, and neither underflow nor overflow. */
const fewFactors: Draw = (draws, shape) =>
  generate(draws.dtype, shape, () => {
    const size = draws.random.next() < 0.9 ? 1 : isFloat(draws.dtype) && draws.random.next() < 0.5 ? 0.5 : 2;
    return draws.dtype === "u8" || draws.dtype === "u64" || draws.random.next() < 0.5 ? size : -size;
  });

const flags = [false, true];

function reduceAxes<K extends ReduceOp>(draw: Draw, isExact: boolean): AxisSamples<K> {
  return (draws, shapes) => {
    const data = isFloat(draws.dtype) || draw === fewFactors ? draw : smallIntegers;
    const samples = shapes.flatMap((shape) =>
      subsets(shape.length).flatMap((axes, index) =>
        // With five axes, each set of axes has only one value of `keepdims`.
        flags
          .filter((keepdims) => shape.length < 5 || keepdims === (index % 2 === 0))
          .map((keepdims) => ({
            attributes: { axes, keepdims },
            inputs: [data(draws, shape)],
            exact: isExact,
          })),
      ),
    );
    // All reductions have the same attributes.
    return { "every-set-of-axes": samples } as unknown as Behaviours<K>;
  };
}

/** Searches among elements that all differ, and among many equal ones, of which the first counts. */
function searchAxes<K extends ArgOp>(): AxisSamples<K> {
  return (draws, shapes) => ({
    "every-axis": alongEach(shapes, (shape, axis) =>
      flags.flatMap((keepdims) =>
        [distinct, smallIntegers].map((draw) => sample({ axis, keepdims }, draw(draws, shape))),
      ),
    ),
  });
}

const reduceGradients = (
  fn: (x: Tensor, options?: { readonly axes?: readonly number[]; readonly keepdims?: boolean }) => Tensor,
  point: (shape: readonly number[]) => Point = spread,
): readonly GradientSample[] => [
  gradient("all-axes", [point([3, 4])], (x) => fn(x)),
  gradient("first-axis", [point([3, 4])], (x) => fn(x, { axes: [0] })),
  gradient("kept-axes", [point([2, 3, 4])], (x) => fn(x, { axes: [0, 2], keepdims: true })),
];

interface Reduced {
  readonly values: Options;
  readonly gradients: Gradients;
  /** Whether the result does not depend on the order of the terms for this data. */
  readonly isExact?: boolean;
  readonly tails?: Draw;
  readonly sizes?: (shape: Shape) => HostTensor;
  readonly axes?: Draw;
  readonly rare?: CommonRow<ReduceOp>["rare"];
}

function reduceRow<K extends ReduceOp>({
  values,
  gradients,
  isExact = false,
  tails = anyTerms,
  sizes = whole,
  axes = isExact ? smallIntegers : positives,
  rare = [],
}: Reduced): OpRow<K> {
  const row: OpRow<ReduceOp> = {
    samples: reduceSamples(values),
    tails: reduceTail(tails, isExact),
    sizes: reduceSizes(sizes, isExact),
    axes: reduceAxes(axes, isExact),
    gradients,
    rare,
  };
  return row as never;
}

const searchRow = <K extends ArgOp>(): OpRow<K> =>
  ({
    samples: searchValues(),
    tails: searchTail<ArgOp>((axis, length) => ({ axis, keepdims: length % 2 === 0 })),
    sizes: searchSizes(),
    axes: searchAxes(),
    gradients: PREDICATE,
  }) as never;

export const reduceTable: OpTable<OpOf<"reduce">> = {
  ReduceSum: reduceRow({
    values: { exactDraw: smallIntegers, ofNothing: true, more: infinities },
    isExact: true,
    gradients: reduceGradients(ops.reduceSum),
    rare: [reducedSubnormals, farBeyondHalves],
  }),
  ReduceMean: reduceRow({
    values: { more: infinities },
    gradients: reduceGradients(ops.reduceMean),
    rare: [farBeyondHalves],
  }),
  ReduceMax: reduceRow({
    values: { draw: randomData, more: extremes },
    isExact: true,
    tails: extreme,
    sizes: shuffle,
    axes: distinct,
    gradients: [
      ...reduceGradients(ops.reduceMax),
      gradient("ties", [{ shape: [2, 3], data: [1, 2, 2, 3, 3, 3] }], (x) => ops.reduceMax(x, { axes: [1] })),
    ],
    rare: [reducedSubnormals, farSpread],
  }),
  ReduceMin: reduceRow({
    values: { draw: randomData, more: extremes },
    isExact: true,
    tails: extreme,
    sizes: shuffle,
    axes: distinct,
    gradients: reduceGradients(ops.reduceMin),
    rare: [reducedSubnormals, farSpread],
  }),
  ReduceProd: reduceRow({
    values: {
      draw: (draws, shape) => randomData(draws, shape, 0.9, 1.1),
      ofNothing: true,
      more: infinities,
    },
    isExact: true,
    tails: tailFactors,
    sizes: manyFactors,
    axes: fewFactors,
    gradients: [
      ...reduceGradients(ops.reduceProd, positivePoint),
      gradient("a-zero-factor", [pointAt(2, 0, 3)], (x) => ops.reduceProd(x)),
    ],
    rare: [farBeyondHalves],
  }),
  ReduceL1: reduceRow({
    values: { draw: randomData, exactDraw: smallIntegers, ofNothing: true, more: infinities },
    isExact: true,
    gradients: reduceGradients(ops.reduceL1),
    rare: [reducedSubnormals, farBeyondHalves],
  }),
  ReduceL2: reduceRow({
    values: { draw: randomData, ofNothing: true, more: infinities },
    tails: fromOneToFour,
    sizes: natural,
    gradients: reduceGradients(ops.reduceL2),
    rare: [farBeyondF16],
  }),
  ReduceLogSum: reduceRow({
    values: { ofNothing: true },
    tails: positives,
    sizes: natural,
    gradients: reduceGradients(ops.reduceLogSum, positivePoint),
  }),
  ReduceLogSumExp: reduceRow({
    values: { draw: randomData, ofNothing: true, more: farOut },
    tails: (draws, shape) => drawBetween(draws, shape, [-2, 2]),
    sizes: onesAndZeros,
    gradients: twice(reduceGradients(ops.reduceLogSumExp)),
    rare: [farSpread],
  }),
  ReduceSumSquare: reduceRow({
    values: { draw: randomData, exactDraw: smallIntegers, ofNothing: true, more: infinities },
    isExact: true,
    gradients: twice(reduceGradients(ops.reduceSumSquare)),
    rare: [farBeyondHalves],
  }),
  ArgMax: searchRow(),
  ArgMin: searchRow(),
  TopK: {
    samples: (draws) => {
      const at = (axis: number, k: number, largest: boolean, x: HostTensor) =>
        sample<"TopK">({ axis, k, largest }, x);
      return {
        values: [true, false].flatMap((largest) => [
          at(0, 3, largest, distinct(draws, [7])),
          at(1, 5, largest, distinct(draws, [2, 5])),
          at(0, 1, largest, distinct(draws, [4, 3])),
          at(1, 2, largest, distinct(draws, [2, 4, 3])),
        ]),
        "equals-keep-their-order": [true, false].map((largest) =>
          at(1, 4, largest, hostData(draws.dtype, [2, 1, 2, 1, 2, 3, 3, 3, 3, 3], [2, 5])),
        ),
        // No rows: an axis other than the searched one is empty.
        "no-rows": [true, false].flatMap((largest) => [
          at(1, 2, largest, hostData(draws.dtype, [], [0, 3])),
          at(0, 2, largest, hostData(draws.dtype, [], [3, 0])),
          at(1, 1, largest, hostData(draws.dtype, [], [2, 1, 0])),
        ]),
        ...integerSearches(draws.dtype, (table, axis) => at(axis, 3, true, table)),
      };
    },
    tails: searchTail((axis, length) => ({
      axis,
      k: Math.min(length, formAt([1, 2, 5, 70], length)),
      largest: length % 2 === 0,
    })),
    sizes: () => {
      const of = (axis: number, k: number, largest: boolean, shape: Shape) =>
        sample<"TopK">({ axis, k, largest }, shuffle(shape));
      return [
        of(0, 1_100, true, LONG),
        of(0, 70, false, TALL),
        of(1, 3, true, TALL),
        of(1, 1_001, false, WIDE),
        of(1, 1, true, ROWS),
      ];
    },
    axes: (draws, shapes) => ({
      "every-axis": alongEach(shapes, (shape, axis) => {
        const size = shape[axis] ?? 1;
        const searches = [
          [1, distinct],
          [size - 1, smallIntegers],
          [size, distinct],
          [size, smallIntegers],
        ] as const;
        return flags.flatMap((largest) =>
          searches.map(([k, draw]) => sample({ axis, k, largest }, draw(draws, shape))),
        );
      }),
    }),
    gradients: [
      gradient("largest", [spread([2, 5])], (x) => ops.topK(x, 2).values),
      gradient("smallest", [spread([2, 5])], (x) => ops.topK(x, 2, { largest: false }).values),
      gradient("of-images", [spread([2, 4, 2, 3])], (x) => ops.topK(x, 2, { axis: 1 }).values),
      gradient("a-single-one", [spread([4, 1])], (x) => ops.topK(x, 1, { axis: 0 }).values),
    ],
    rare: [...nanInTopK, chooseSubnormals({ axis: 1, k: 4, largest: true }), zerosInTopK],
  },
  CumSum: {
    samples: (draws) => {
      const flags = [
        cumulative(0),
        cumulative(0, true),
        cumulative(0, false, true),
        cumulative(0, true, true),
      ];
      const draw = isFloat(draws.dtype)
        ? positives
        : ({ dtype }: Draws, shape: Shape) => countUp(dtype, shape);
      return {
        values: [
          ...flags.map((attributes) => sample<"CumSum">(attributes, draw(draws, [9]))),
          sample<"CumSum">(cumulative(1), draw(draws, [2, 5, 3])),
          sample<"CumSum">(cumulative(2, true), draw(draws, [2, 2, 4])),
          sample<"CumSum">(cumulative(0), draw(draws, [0, 3])),
          sample<"CumSum">(cumulative(1), draw(draws, [1, 1])),
        ],
        ...integerSearches(draws.dtype, (table, axis) => sample<"CumSum">(cumulative(axis), table)),
        ...(isFloat(draws.dtype) && {
          "whole-numbers-are-exact": flags.map((attributes) =>
            exact<"CumSum">(attributes, smallIntegers(draws, [isHalf(draws.dtype) ? 40 : 67])),
          ),
        }),
      };
    },
    tails: (draws) =>
    lengths(draws.dtype).flatMap((length) =>
      ([[[2, length], 1], formAt([[[length], 0], [[length, 3], 0], [[2, length, 3], 1]] as const, length)] as const).map(
        ([shape, axis], at) =>
          exact(
            { axis, exclusive: (length + at) % 3 === 0, reverse: (length + at) % 2 === 0 },
            terms(draws, [...shape]),
          ),
      ),
    ), // biome-ignore format: one list of forms
    sizes: () => {
      const of = (axis: number, shape: Shape, exclusive = false, reverse = false) =>
        exact<"CumSum">({ axis, exclusive, reverse }, whole(shape));
      return [of(0, LONG), of(0, LONG, true, true), of(0, TALL, false, true), of(1, TALL), of(1, WIDE, true)];
    },
    axes: (draws, shapes) => ({
      "every-axis": alongEach(shapes, (shape, axis) =>
        flags.flatMap((exclusive) =>
          flags.map((reverse) => exact({ axis, exclusive, reverse }, smallIntegers(draws, shape))),
        ),
      ),
    }),
    gradients: [
      gradient("plain", [spread([2, 5])], (x) => ops.cumSum(x, 1)),
      gradient("exclusive-reverse", [spread([4, 2])], (x) =>
        ops.cumSum(x, 0, { exclusive: true, reverse: true }),
      ),
    ],
    rare: [chooseSubnormals({ axis: 1, exclusive: false, reverse: false }), farCumSum],
  },
};
