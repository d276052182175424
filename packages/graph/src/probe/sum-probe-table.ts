/**
 * Probes of operators that accumulate. Each has numbers whose partial sums a half dtype cannot hold, and the result of
 * adding them in f32. A function makes the table, so that bundlers drop it if nothing probes.
 */
import { floatFormats, type HalfDType } from "../dtype.js";
import type { Op, OpAttributes } from "../graph/attributes.js";
import type { AddingOp } from "../graph/families.js";
import type { Value } from "../graph/graph.js";
import type { Shape } from "../shape.js";

export interface SumSite {
  readonly half: HalfDType;
  /** An input with the numbers, in the half dtype being probed; equal calls return the same value. */
  value(numbers: readonly number[], shape: Shape): Value;
  f32(numbers: readonly number[], shape: Shape): Value;
  /** An i32 input of zeros. */
  indices(shape: Shape): Value;
  emit<K extends Op>(op: K, inputs: readonly Value[], attributes: OpAttributes[K]): Value;
  /** Declares that the element at `position` is `want` before rounding, if the kernel accumulates in f32. */
  expect(result: Value, position: number, want: number, ulp?: number): void;
}

type SumRow<K extends Op> = (site: SumSite, op: K) => void;

const TERMS = 5000;
const rest = (size: number, number: number): number[] => new Array<number>(size).fill(number);

/** The smallest x for which x + 1 rounds to x in the half dtype. */
const stall = (half: HalfDType): number => 2 ** (floatFormats[half].fractionBits + 1);

/** A small term: in a half dtype, `stall` absorbs even the sum of a few hundred such terms; in f32 it absorbs none. */
const SMALL = 2 ** -9;
/** The exact sum of the terms of `canceling`. */
const LEFT: number = (TERMS - 2) * SMALL;

/** Terms whose first and last cancel; an accumulator in the half dtype loses all small terms between them. */
const canceling = (half: HalfDType, count: number = TERMS, small: number = SMALL): number[] => [
  stall(half),
  ...rest(count - 2, small),
  -stall(half),
];
const rising = (half: HalfDType): number[] => [stall(half), ...rest(TERMS - 1, 1 / 8)];
/** A number whose square is at least `stall`. */
const root = (half: HalfDType): number => 2 ** Math.ceil((floatFormats[half].fractionBits + 1) / 2);
const squares = (half: HalfDType): number[] => [root(half), ...rest(TERMS - 1, 1 / 4)];
const squaresSum = (half: HalfDType): number => root(half) ** 2 + (TERMS - 1) / 16;
/** One logit with a large exponential; a sum in a half dtype loses all other exponentials. */
const logits = (): readonly number[] => [0, ...rest(TERMS - 1, -11)];
const exponentials = (): number => 1 + (TERMS - 1) * Math.exp(-11);
const uneven = (half: HalfDType): number[] => [
  stall(half),
  ...Array.from({ length: TERMS - 1 }, (_, index) => 0.5 + (index % 2)),
];

/** (x - mean) / √(variance + ε) of the last number. */
function lastNormalized(numbers: readonly number[], epsilon: number): number {
  const mean = numbers.reduce((sum, x) => sum + x, 0) / numbers.length;
  const variance = numbers.reduce((sum, x) => sum + (x - mean) ** 2, 0) / numbers.length;
  return ((numbers.at(-1) ?? 0) - mean) / Math.sqrt(variance + epsilon);
}

/** Probes an operator on one row; `want` is element 0 of its result. */
const onRow =
  <K extends Op>(
    numbers: (half: HalfDType) => readonly number[],
    attributes: OpAttributes[K],
    want: (half: HalfDType) => number,
    ulp = 0,
  ): SumRow<K> =>
  (site, op) => {
    const row = numbers(site.half);
    site.expect(site.emit(op, [site.value(row, [1, row.length])], attributes), 0, want(site.half), ulp);
  };

const rows = { axes: [1], keepdims: false };
const EPSILON = 2 ** -10;
const kernelWindow = { strides: [1, 1], pads: [0, 0, 0, 0], dilations: [1, 1] };
const pointwise = { strides: [1, 1], pads: [0, 0, 0, 0], dilations: [1, 1], group: 1 };
/** Tolerance in ulps for intermediate roundings in f32 before the result is rounded to the half dtype. */
const NEAR = 2;

export const sumProbeTable = (): { readonly [K in AddingOp]: SumRow<K> } => ({
  MatMul: (site, op) => {
    const [x, ones] = [canceling(site.half), rest(TERMS, 1)];
    const product = (a: Value, b: Value): void => site.expect(site.emit(op, [a, b], {}), 0, LEFT);
    product(site.value(x, [1, TERMS]), site.value(ones, [TERMS, 1]));
    product(site.value([...x, ...x], [2, TERMS]), site.value([...ones, ...ones], [TERMS, 2]));
    product(site.value([...x, ...x], [2, 1, TERMS]), site.value([...ones, ...ones], [2, TERMS, 1]));
    // Engines fuse a transposition into the matrix product that reads it.
    const turned = site.emit("Transpose", [site.value([...ones, ...ones], [2, TERMS])], { perm: [1, 0] });
    product(site.value([...x, ...x], [2, TERMS]), turned);
  },
  Gemm: (site, op) => {
    const [x, ones] = [canceling(site.half), rest(TERMS, 1)];
    const plain = { transA: false, transB: false, alpha: 1, beta: 1 };
    const product = (a: Value, b: Value, attributes: OpAttributes["Gemm"]): void =>
      site.expect(site.emit(op, [a, b], attributes), 0, LEFT);
    product(site.value(x, [1, TERMS]), site.value([...ones, ...ones], [TERMS, 2]), plain);
    product(site.value(x, [TERMS, 1]), site.value(ones, [1, TERMS]), {
      ...plain,
      transA: true,
      transB: true,
    });
    const big = stall(site.half);
    const biased = site.emit(
      op,
      [site.value([big, 1], [1, 2]), site.value([1, 1], [2, 1]), site.value([1], [1])],
      plain,
    );
    site.expect(biased, 0, big + 2);
  },
  Einsum: (site, op) => {
    const [x, ones] = [canceling(site.half), rest(TERMS, 1)];
    const both = (a: Value, b: Value, equation: string): void =>
      site.expect(site.emit(op, [a, b], { equation }), 0, LEFT);
    both(site.value(x, [1, TERMS]), site.value(ones, [TERMS, 1]), "ij,jk->ik");
    both(
      site.value([...x, ...x], [2, 1, TERMS]),
      site.value([...ones, ...ones], [2, TERMS, 1]),
      "bij,bjk->bik",
    );
    site.expect(site.emit(op, [site.value(x, [1, TERMS])], { equation: "ij->i" }), 0, LEFT);
  },
  Attention: (site, op) => {
    const plain = { scale: 1, isCausal: false, softcap: 0 };
    const one = (...numbers: readonly number[]): Value => site.value(numbers, [1, 1, numbers.length, 1]);
    // Equal probabilities, over small values beside a large one.
    const zeros = site.value(rest(TERMS, 0), [1, 1, TERMS, 1]);
    const values = site.value(canceling(site.half, TERMS, 1 / 4), [1, 1, TERMS, 1]);
    site.expect(site.emit(op, [one(0), zeros, values], plain), 0, (TERMS - 2) / 4 / TERMS, NEAR);
    // One large probability beside many small ones.
    const first = site.value([1, ...rest(TERMS - 1, 0)], [1, 1, TERMS, 1]);
    const keys = site.value(logits(), [1, 1, TERMS, 1]);
    site.expect(site.emit(op, [one(1), keys, first], plain), 0, 1 / exponentials(), NEAR);
    // One of the two scores is a sum with small terms.
    const query = site.value(rest(TERMS, 1), [1, 1, 1, TERMS]);
    const pair = site.value([...canceling(site.half), ...rest(TERMS, 0)], [1, 1, 2, TERMS]);
    const share = 1 / (1 + Math.exp(-LEFT / 8));
    site.expect(site.emit(op, [query, pair, one(1, 0)], { ...plain, scale: 1 / 8 }), 0, share, NEAR);
  },
  AttentionGradient: (site, op) => {
    // Equal probabilities and values of mean 0, so that dquery sums the keys with these signs.
    const signs = Array.from({ length: TERMS }, (_, at) => (at % 2 === 0 ? 1 : -1));
    const keys = canceling(site.half, TERMS, 1 / 4).map((x, at) => x * (signs[at] ?? 1));
    const [one, all] = [
      [1, 1, 1, 1],
      [1, 1, TERMS, 1],
    ];
    const operands = [
      site.value([1], one),
      site.value([0], one),
      site.value(keys, all),
      site.value(signs, all),
    ];
    const result = site.emit(op, operands, { scale: 1, isCausal: false, softcap: 0 });
    site.expect(result, 0, (TERMS - 2) / 4 / TERMS, NEAR);
  },
  Conv: (site, op) => {
    const [x, ones] = [canceling(site.half), rest(TERMS, 1)];
    // Sums over channels, over taps, and over both.
    for (const shape of [
      [1, TERMS, 1, 1],
      [1, 1, 1, TERMS],
      [1, 8, 25, 25],
    ])
      site.expect(site.emit(op, [site.value(x, shape), site.value(ones, shape)], pointwise), 0, LEFT);
  },
  ConvTranspose: (site, op) => {
    const [x, ones] = [canceling(site.half), rest(TERMS, 1)];
    const operands = [site.value(x, [1, TERMS, 1, 1]), site.value(ones, [TERMS, 1, 1, 1])];
    site.expect(site.emit(op, operands, { ...pointwise, outputPadding: [0, 0] }), 0, LEFT);
  },
  ConvWeightGradient: (site, op) => {
    const [x, ones] = [canceling(site.half), rest(TERMS, 1)];
    for (const shape of [
      [1, 1, 1, TERMS],
      [TERMS, 1, 1, 1],
    ]) {
      const attributes = { ...pointwise, kernelShape: [1, 1] };
      site.expect(site.emit(op, [site.value(x, shape), site.value(ones, shape)], attributes), 0, LEFT);
    }
  },
  ReduceSum: (site, op) => {
    const x = canceling(site.half);
    const sum = (shape: Shape, axes: readonly number[]): void =>
      site.expect(site.emit(op, [site.value(x, shape)], { axes, keepdims: false }), 0, LEFT);
    sum([1, TERMS], [1]);
    sum([TERMS, 1], [0]);
    sum([50, 100], [0, 1]);
  },
  ReduceMean: onRow(canceling, rows, () => LEFT / TERMS, NEAR),
  ReduceProd: onRow(
    (half) => rest(100, 1 + 2 ** -floatFormats[half].fractionBits),
    rows,
    (half) => (1 + 2 ** -floatFormats[half].fractionBits) ** 100,
    NEAR,
  ),
  ReduceL1: onRow(canceling, rows, (half) => 2 * stall(half) + LEFT),
  ReduceL2: onRow(squares, rows, (half) => Math.sqrt(squaresSum(half)), NEAR),
  ReduceSumSquare: onRow(squares, rows, squaresSum),
  ReduceLogSum: onRow(rising, rows, (half) => Math.log(stall(half) + (TERMS - 1) / 8), NEAR),
  ReduceLogSumExp: onRow(logits, rows, () => Math.log(exponentials()), NEAR),
  // Sums from the end, so that element 0 is the whole sum.
  CumSum: onRow(canceling, { axis: 1, exclusive: false, reverse: true }, () => LEFT),
  AveragePool: (site, op) => {
    const window = { ...kernelWindow, kernelShape: [50, 100], ceilMode: false, countIncludePad: false };
    const result = site.emit(op, [site.value(canceling(site.half), [1, 1, 50, 100])], window);
    site.expect(result, 0, LEFT / TERMS, NEAR);
  },
  MaxPoolGradient: (site, op) => {
    // Every window contains the middle element.
    const size = 64;
    const x = Array.from({ length: 2 * size - 1 }, (_, position) => Number(position === size - 1));
    const [given, largest] = [canceling(site.half, size), rest(size, 1)].map((numbers) =>
      site.value(numbers, [1, 1, 1, size]),
    ) as [Value, Value];
    const operands = [given, site.value(x, [1, 1, 1, x.length]), largest];
    const attributes = { ...kernelWindow, kernelShape: [1, size], ceilMode: false };
    site.expect(site.emit(op, operands, attributes), size - 1, (size - 2) * SMALL);
  },
  ScatterElements: (site, op) => {
    const operands = [site.value([0], [1]), site.indices([TERMS]), site.value(canceling(site.half), [TERMS])];
    site.expect(site.emit(op, operands, { axis: 0, reduction: "add" }), 0, LEFT);
  },
  ScatterND: (site, op) => {
    const operands = [
      site.value([0], [1]),
      site.indices([TERMS, 1]),
      site.value(canceling(site.half), [TERMS]),
    ];
    site.expect(site.emit(op, operands, { reduction: "add" }), 0, LEFT);
  },
  Softmax: onRow(logits, { axis: 1 }, () => 1 / exponentials(), NEAR),
  LogSoftmax: onRow(logits, { axis: 1 }, () => -Math.log(exponentials()), NEAR),
  SoftmaxCrossEntropyLoss: (site, op) => {
    const operands = [site.value(logits(), [1, TERMS]), site.indices([1])];
    site.expect(site.emit(op, operands, { reduction: "mean" }), 0, Math.log(exponentials()), NEAR);
  },
  NegativeLogLikelihoodLoss: (site, op) => {
    const operands = [site.value(canceling(site.half), [TERMS, 1]), site.indices([TERMS])];
    site.expect(site.emit(op, operands, { reduction: "sum" }), 0, -LEFT);
  },
  LayerNormalization: (site, op) => {
    const x = uneven(site.half);
    const operands = [site.value(x, [1, TERMS]), site.value(rest(TERMS, 1), [TERMS])];
    const result = site.emit(op, operands, { axis: 1, epsilon: EPSILON });
    site.expect(result, TERMS - 1, lastNormalized(x, EPSILON), NEAR);
  },
  RMSNormalization: (site, op) => {
    const operands = [site.value(squares(site.half), [1, TERMS]), site.value(rest(TERMS, 1), [TERMS])];
    const mean = squaresSum(site.half) / TERMS;
    const result = site.emit(op, operands, { axis: 1, epsilon: EPSILON });
    site.expect(result, TERMS - 1, 0.25 / Math.sqrt(mean + EPSILON), NEAR);
  },
  BatchNormalization: (site, op) => {
    const x = uneven(site.half);
    const operands = [site.value(x, [2, 1, 50, 50]), site.f32([1], [1]), site.f32([0], [1])];
    site.expect(site.emit(op, operands, { epsilon: EPSILON }), TERMS - 1, lastNormalized(x, EPSILON), NEAR);
  },
  BatchNormalizationGradient: (site, op) => {
    // x equals its mean everywhere: dx = dy - mean(dy), up to the factor of the deviation.
    const shape = [2, 1, 50, 50];
    const given = [site.value(canceling(site.half, TERMS, 1), shape), site.value(rest(TERMS, 0), shape)];
    const channel = [site.f32([1], [1]), site.f32([0], [1]), site.f32([1], [1])];
    const result = site.emit(op, [...given, ...channel], { epsilon: EPSILON });
    site.expect(result, 1, (1 - (TERMS - 2) / TERMS) / Math.sqrt(1 + EPSILON), NEAR);
  },
});
