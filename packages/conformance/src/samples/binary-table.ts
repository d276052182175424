/** Elementwise operators of two operands, and Where. */
import {
  type ComputeDType,
  type DType,
  elementCount,
  floatFormats,
  type HostTensor,
  isComputeFloat,
  type Op,
  type OpAttributes,
  type OpOf,
  type Shape,
  type Tensor,
} from "@mp/graph";
import * as ops from "@mp/graph/ops";
import {
  type Draws,
  generate,
  hostData,
  inDType,
  integerExtremes,
  randomData,
  specialValues,
} from "../host-data.js";
import { type AxisSamples, anyElements, broadcastPairs, naturals } from "./axis-data.js";
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
import type { CommonRow, GeneratedRow, OpTable, SizeRow } from "./op-row.js";
import { countUp, type OpSample, positives, type Sampled, sample, smallIntegers } from "./op-sample.js";
import type { RareRow } from "./rare-row.js";
import {
  bools,
  counting,
  LONG,
  natural,
  positiveSized,
  ROWS,
  smooth,
  TALL,
  WIDE,
  whole,
} from "./size-data.js";
import { nanOnEitherSide } from "./small-results.js";
import { subnormalsOfTwo, subnormalsWhere } from "./subnormals.js";
import { drawBetween, endsInNan, formAt, label, lengths, setElements } from "./tail-data.js";

/** Operand shapes that broadcast, in either order, with scalars and empty axes. */
const BROADCASTS: readonly (readonly [Shape, Shape])[] = [
  [[2, 3], [2, 3]],
  [[], []],
  [[4, 5], []],
  [[], [4, 5]],
  [[4, 5], [5]],
  [[4, 1], [1, 5]],
  [[2, 1, 3, 1], [4, 1, 5]],
  [[3], [2, 1, 3]],
  [[0], [1]],
  [[2, 0, 3], [3]],
  [[1031], [1031]],
]; // biome-ignore format: one pair a line

const INTEGER_PAIRS: Readonly<Partial<Record<DType, readonly number[]>>> = {
  i32: [-(2 ** 31) + 1, -7, -3, -1, 1, 2, 3, 7, 2 ** 31 - 1],
  i64: [-(2 ** 52), -7, -3, -1, 1, 2, 3, 7, 2 ** 53 - 1],
  u64: [1, 2, 3, 7, 2 ** 33, 2 ** 53 - 1],
  u8: [1, 2, 3, 7, 128, 255],
  bool: [0, 1],
};

const FAR = [2047, 65504, 65520, 1e5, 2 ** 23 - 1, 2 ** 23 + 1, 2 ** 24 + 2, 2 ** 31, 2 ** 63, 1e30, 1e-10, 88, 104]; // biome-ignore format: one list

/** Numbers that arithmetic often gets wrong, numbers of large magnitude, and two whose product rounds to infinity. */
function farNumbers(dtype: ComputeDType): readonly number[] {
  const { fractionBits, maxExponent } = floatFormats[dtype];
  const [step, half] = [2 ** -fractionBits, Math.floor(maxExponent / 2)];
  const edge = [(1 + step) * 2 ** half, (2 - 2 * step) * 2 ** (maxExponent - half)];
  return [...specialValues(dtype), ...FAR, ...FAR.map((x) => -x), ...edge];
}

/** Two lists that pair every value with every other. */
function pairs<N extends number | bigint>(
  values: readonly N[],
  others: readonly N[] = values,
): readonly (readonly N[])[] {
  return [values.flatMap((a) => others.map(() => a)), values.flatMap(() => others)];
}

/** All pairs of extremes in one vector, and pairs of a scalar and a vector of one extreme that fills wide registers. */
function extremes<K extends Op>(
  dtype: DType,
  attributes: OpAttributes[K],
  withZero: boolean,
): Readonly<Record<string, readonly OpSample<K>[]>> {
  const ends = integerExtremes[dtype];
  if (ends === undefined) return {};
  const divisors = ends.filter((end) => withZero || end !== 0n);
  const [a = [], b = []] = pairs(ends, divisors);
  const lone = divisors.filter((end) => end === 5n || end === -1n || end === ends[0]);
  const scalar = (value: bigint): HostTensor => hostData(dtype, [value], []);
  const equal = (value: bigint): HostTensor => generate(dtype, [70], () => value);
  return {
    extremes: [
      sample(attributes, hostData(dtype, a), hostData(dtype, b)),
      ...lone.flatMap((one) =>
        divisors.flatMap((end) => [
          sample(attributes, equal(end), scalar(one)),
          sample(attributes, scalar(one), equal(end)),
        ]),
      ),
    ],
  };
}

interface RowOptions {
  readonly values?: readonly number[];
  readonly others?: readonly number[];
  readonly range?: readonly [number, number];
  /** Whether integer operands include 0. Only for ops that do not divide by them. */
  readonly withZero?: boolean;
}

function binaryValues<K extends Op>(attributes: OpAttributes[K], options: RowOptions = {}): Sampled<K> {
  const { range = [-8, 8], withZero = true } = options;
  return (draws) => {
    const float = isComputeFloat(draws.dtype);
    const integers = [
      ...(withZero && draws.dtype !== "bool" ? [0] : []),
      ...(INTEGER_PAIRS[draws.dtype] ?? []),
    ];
    const values = float ? (options.values ?? farNumbers(draws.dtype)) : integers;
    const [a = [], b = []] = pairs(values, float ? options.others : undefined);
    const operand = (shape: Shape, offset: number): ReturnType<typeof hostData> => {
      if (float) return randomData(draws, shape, ...range);
      // Draws from 1 to 5, since integer division by 0 is an error.
      return draws.dtype === "bool"
        ? countUp(draws.dtype, shape, offset)
        : generate(draws.dtype, shape, (place) => 1 + ((place + offset) % 5));
    };
    return {
      values: [sample(attributes, hostData(draws.dtype, a), hostData(draws.dtype, b))],
      broadcasting: BROADCASTS.map(([left, right]) =>
        sample(attributes, operand(left, 0), operand(right, 2)),
      ),
      ...extremes<K>(draws.dtype, attributes, withZero),
    };
  };
}

const plain = {};

const INFINITE = Number.POSITIVE_INFINITY;

const bases = [-INFINITE, -1e5, -65504, -3, -1, -0.5, -0, 0, 0.5, 1, 1.5, 3, 10, 65504, 1e5, INFINITE, Number.NaN]; // biome-ignore format: one list

const powers = [-INFINITE, -101, -100, -2, -1, -0.5, -0, 0, 0.5, 1, 2, 3, 100, 101, 255, INFINITE, Number.NaN]; // biome-ignore format: one list

const dividends = [-65504, -20, -7.5, -3, -0, 0, 0.25, 3, 7.5, 20, 1e5, 2 ** 24 + 2, INFINITE, Number.NaN];

const divisors = [-INFINITE, -3, -0.5, 0, 0.5, 2.5, 3, 7, INFINITE, Number.NaN];

const byDividend = binaryValues<"Mod">({ fmod: true }, { values: dividends, others: divisors });

const byDivisor = binaryValues<"Mod">({ fmod: false }, { withZero: false });

type Pair = readonly [left: Shape, right: Shape];

type Form = (length: number) => Pair;

/** Pairs of shapes whose broadcasts have special loops in engines. */
const FORMS: readonly Form[] = [
  (n) => [[], [n]],
  (n) => [[n], []],
  (n) => [[3, n], [n]],
  (n) => [[n], [3, n]],
  (n) => [[3, n], [3, 1]],
  (n) => [[3, 1], [3, n]],
  (n) => [[n, 1], [1, 3]],
  (n) => [[2, 1], [1, n]],
  (n) => [[2, 3, n], [2, 1, n]],
  (n) => [[2, 1, n], [3, 1]],
]; // biome-ignore format: one form a line

/** Makes an operand: `side` is 0 for the left one, 1 for the right one. */
type Draw = (draws: Draws, shape: Shape, side: number) => HostTensor;

/** Puts NaN at the end of one operand, if the vectors have more than 35 elements. */
function withNan(operands: readonly HostTensor[], length: number): readonly HostTensor[] {
  return operands.map((operand, side) =>
    endsInNan(operand.dtype, length) && length % 2 === side
      ? setElements(operand, Number.NaN, length - 1)
      : operand,
  );
}

function binaryTail<K extends Op>(
  draw: Draw,
  attributesOf: (dtype: DType) => OpAttributes[K] = () => ({}) as OpAttributes[K],
  first: DType = "f32",
): GeneratedRow<K> {
  return (draws) => {
    const operands = ([left, right]: Pair) => [draw(draws, left, 0), draw(draws, right, 1)];
    const of = (inputs: readonly HostTensor[]): OpSample<K> =>
      sample<K>(attributesOf(draws.dtype), ...inputs);
    return lengths(draws.dtype, first).flatMap((length) => {
      const others = draws.dtype === first ? [length] : [length, length + 5];
      return [
        of(withNan(operands([[length], [length]]), length)),
        ...others.map((at) => of(operands(formAt(FORMS, at)(length)))),
      ];
    });
  };
}

/** Any floats, or integers other than 0, by which integers can be divided. */
const tailNumbers: Draw = (draws, shape) =>
  isComputeFloat(draws.dtype)
    ? drawBetween(draws, shape, [-8, 8])
    : generate(
        draws.dtype,
        shape,
        () =>
          draws.random.integer(1, 9) *
          (draws.random.next() < 0.5 || draws.dtype === "u8" || draws.dtype === "u64" ? 1 : -1),
      );

/** Elements with at most three different values, so that equal ones are frequent. */
const few: Draw = (draws, shape) =>
  generate(draws.dtype, shape, () =>
    draws.dtype === "bool" ? draws.random.integer(0, 1) : draws.random.integer(1, 3),
  );

const CHOICES: readonly ((length: number) => readonly [condition: Shape, x: Shape, y: Shape])[] = [
  (n) => [[], [n], [n]],
  (n) => [[n], [], []],
  (n) => [[n], [], [n]],
  (n) => [[n], [n], []],
  (n) => [[3, n], [n], [3, n]],
  (n) => [[3, 1], [3, n], [n]],
  (n) => [[1, n], [3, 1], [3, n]],
  (n) => [[n, 1], [3], []],
]; // biome-ignore format: one form a line

/** Operands of equal shapes, and operands that broadcast along each axis. */
function binarySizes<K extends Op>(
  attributes: OpAttributes[K],
  left: (shape: Shape) => HostTensor = whole,
  right: (shape: Shape) => HostTensor = natural,
): SizeRow<K> {
  return () => [
    sample<K>(attributes, left(LONG), right(LONG)),
    sample<K>(attributes, left(TALL), right([18])),
    sample<K>(attributes, left([1]), right(WIDE)),
    sample<K>(attributes, left([18, 1]), right([4_134])),
  ];
}

function alongAxes<K extends Op>(
  left: Draw,
  right: Draw,
  attributesOf: (dtype: DType) => OpAttributes[K] = () => ({}) as OpAttributes[K],
): AxisSamples<K> {
  return (draws, shapes) => ({
    "every-axis": shapes
      .flatMap(broadcastPairs)
      .map(([a, b]) => sample(attributesOf(draws.dtype), left(draws, a, 0), right(draws, b, 1))),
  });
}

const binaryGradients = (
  fn: (a: Tensor, b: Tensor) => Tensor,
  point: (shape: readonly number[], turn?: number) => Point = spread,
): readonly GradientSample[] => [
  gradient("matrix", [point([3, 4]), point([3, 4], 1)], fn),
  gradient("broadcasting-rows", [point([3, 4]), point([4], 1)], fn),
  gradient("broadcasting-both", [point([3, 1]), point([2, 1, 4], 1)], fn),
  gradient("broadcasting-a-scalar", [point([]), point([2, 3], 1)], fn),
];

const baseAndPower: Draw = (draws, shape, side) =>
  drawBetween(draws, shape, side === 0 ? [0.25, 3] : [-3, 3]);

const isFmod = (dtype: DType): OpAttributes["Mod"] => ({ fmod: isComputeFloat(dtype) });

type BinaryRow<K extends Op> = CommonRow<K> & {
  readonly tails: GeneratedRow<K>;
  readonly axes: AxisSamples<K>;
};

function arithmetic<K extends Op>(
  gradients: Gradients,
  left: (shape: Shape) => HostTensor,
  { rare = [], ...options }: RowOptions & { readonly rare?: readonly RareRow<K>[] } = {},
): BinaryRow<K> {
  return {
    rare,
    samples: binaryValues<K>(plain as OpAttributes[K], options),
    tails: binaryTail(tailNumbers),
    sizes: binarySizes<K>(plain as OpAttributes[K], left),
    axes: alongAxes(smallIntegers, naturals),
    gradients,
  };
}

const comparison = <K extends Op>(): BinaryRow<K> => ({
  samples: binaryValues<K>(plain as OpAttributes[K]),
  tails: binaryTail(few),
  sizes: binarySizes<K>(plain as OpAttributes[K]),
  axes: alongAxes(smallIntegers, naturals),
  gradients: PREDICATE,
});

const logic = <K extends Op>(): BinaryRow<K> => ({
  samples: binaryValues<K>(plain as OpAttributes[K]),
  tails: binaryTail<K>(few, undefined, "bool"),
  sizes: binarySizes<K>(plain as OpAttributes[K], bools, (shape) => generate("bool", shape, (at) => at % 2)),
  axes: alongAxes(anyElements, anyElements),
  gradients: PREDICATE,
});

const oneTwice = (fn: (a: Tensor, b: Tensor) => Tensor): GradientSample =>
  gradient("one-value-twice", [spread([3, 4])], (x) => fn(x, x));

export const binaryTable: OpTable<OpOf<"binary">> = {
  Add: arithmetic([...binaryGradients(ops.add), oneTwice(ops.add)], counting),
  Sub: arithmetic(binaryGradients(ops.sub), counting),
  Mul: arithmetic(twice([...binaryGradients(ops.mul), oneTwice(ops.mul)]), counting),
  Div: arithmetic(twice(binaryGradients(ops.div, positivePoint)), smooth, { withZero: false }),
  Pow: {
    samples: binaryValues(plain, { values: bases, others: powers, range: [0.25, 3] }),
    tails: binaryTail(baseAndPower),
    sizes: binarySizes(plain, positiveSized),
    axes: alongAxes(positives, naturals),
    gradients: twice([
      ...binaryGradients(ops.pow, positivePoint),
      gradient("squares-of-negatives", [pointAt(-2, -1, 0, 1.5)], (x) => ops.pow(x, 2)),
    ]),
  },
  Mod: {
    samples: (draws) => (isComputeFloat(draws.dtype) ? byDividend : byDivisor)(draws),
    tails: binaryTail(tailNumbers, isFmod),
    sizes: binarySizes({ fmod: true }, counting),
    axes: alongAxes(smallIntegers, naturals, (dtype) => ({ fmod: !["i32", "i64", "u8"].includes(dtype) })),
    gradients: [
      gradient("by-dividend", [positivePoint([3, 4]), pointAt(2.5, 2.5, 2.5, 2.5)], (a, b) =>
        ops.mod(a, b, { fmod: true }),
      ),
    ],
  },
  Min: arithmetic(binaryGradients(ops.minimum), whole, { rare: [subnormalsOfTwo(), nanOnEitherSide()] }),
  Max: arithmetic(binaryGradients(ops.maximum), whole, { rare: [subnormalsOfTwo(), nanOnEitherSide()] }),
  Equal: comparison(),
  Greater: comparison(),
  GreaterOrEqual: comparison(),
  Less: comparison(),
  LessOrEqual: comparison(),
  And: logic(),
  Or: logic(),
  Xor: logic(),
  Where: {
    samples: ({ dtype }) => {
      const condition = (shape: Shape): ReturnType<typeof hostData> => countUp("bool", shape);
      const values = isComputeFloat(dtype)
        ? [
            sample<"Where">(
              {},
              countUp("bool", [specialValues(dtype).length]),
              hostData(dtype, specialValues(dtype)),
              hostData(dtype, [...specialValues(dtype)].reverse()),
            ),
          ]
        : [sample<"Where">({}, condition([9]), countUp(dtype, [9]), countUp(dtype, [9], 4))];
      const ends = integerExtremes[dtype] ?? [];
      const shapes: readonly (readonly [Shape, Shape, Shape])[] = [
        [[2, 3], [2, 3], [2, 3]],
        [[], [2, 3], [2, 3]],
        [[3], [2, 1], []],
        [[2, 1, 1], [4, 1], [1, 5]],
        [[0, 3], [3], []],
        [[], [], []],
      ]; // biome-ignore format: one triple a line
      return {
        values,
        broadcasting: shapes.map(([c, x, y]) =>
          sample({}, condition(c), countUp(dtype, x), countUp(dtype, y, 5)),
        ),
        ...(ends.length === 0
          ? {}
          : {
              extremes: [
                sample(
                  {},
                  condition([ends.length]),
                  hostData(dtype, ends),
                  hostData(dtype, [...ends].reverse()),
                ),
              ],
            }),
      };
    },
    tails: (draws) =>
      lengths(draws.dtype).flatMap((length) =>
        [[[length], [length], [length]] as const, formAt(CHOICES, length)(length)].map(([condition, x, y]) =>
          sample({}, label(inDType(draws, "bool"), condition), label(draws, x), label(draws, y)),
        ),
      ),
    sizes: () => [
      sample(plain, bools(LONG), counting(LONG), whole(LONG)),
      sample(plain, bools([4_133, 1]), whole([18]), counting(TALL)),
      sample(plain, bools([2]), counting(ROWS), whole([66_002, 1])),
    ],
    axes: (draws, shapes) => ({
      "every-axis": shapes.flatMap(broadcastPairs).map(([a, b], index) => {
        const full = elementCount(a, "test data") > elementCount(b, "test data") ? a : b;
        const orders = [[a, b, full], [a, full, b], [full, a, b]]; // biome-ignore format: one line
        const [condition = [], x = [], y = []] = orders[index % 3] ?? [];
        return sample(
          {},
          anyElements(inDType(draws, "bool"), condition),
          anyElements(draws, x),
          anyElements(draws, y),
        );
      }),
    }),
    gradients: [
      gradient("both-sides", [spread([3, 4]), spread([4], 1)], (a, b) =>
        ops.where(ops.greater(a, b), a, ops.mul(b, 2)),
      ),
      gradient("an-infinite-gradient-stays-behind-the-mask", [pointAt(-1, 0.5, 2, -3)], (x) =>
        ops.sqrt(ops.where(ops.greater(x, 0), x, 0)),
      ),
    ],
    rare: [subnormalsWhere],
  },
};
