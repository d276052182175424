/**
 * The largest tolerance that a backend may declare, per op and dtype. It is part of the specification, so that no
 * backend passes by declaring a billion ulps. A stricter entry requires a major version of this package.
 */
import { type ComputeDType, type Op, opTable } from "@mp/graph";
import type { Ulp } from "@mp/graph/internal";

/** The largest tolerance of an operator, by the dtype that it computes in. */
export interface Ceiling extends Readonly<Record<ComputeDType, Ulp>> {
  /**
   * Magnitude below which the ulp no longer shrinks. 0: errors are relative to the result throughout. 1: errors are
   * absolute, for functions with terms of that magnitude that cancel (1 + erf, a sigmoid's tail).
   */
  readonly floor: number;
  /** Whether the sign of a zero result is specified. */
  readonly signedZero: boolean;
}

/** Ceiling of ops that move or choose values, and so keep every bit. */
const exact: Ceiling = { f32: 0, f16: 0, bf16: 0, floor: 0, signedZero: true };
/** Ceiling of exact ops for which IEEE 754 and the engines leave the sign of zero open. */
const exactUpToZero: Ceiling = { ...exact, signedZero: false };
/** Ceiling of ops that IEEE 754 rounds correctly; engines that divide by multiplying are one ulp off. */
const rounded: Ceiling = { f32: 1, f16: 1, bf16: 1, floor: 0, signedZero: true };

/** Ceiling of functions of one element. f16 and bf16 are computed in f32 and rounded once, so at most one ulp off. */
const smooth = (f32: Ulp, floor = 0): Ceiling => ({ f32, f16: 1, bf16: 1, floor, signedZero: false });
/** Ceiling of sums of terms of one sign, in any order, in f32; errors grow with their length. */
const sum = (f32: Ulp): Ceiling => ({ f32, f16: 1, bf16: 1, floor: 0, signedZero: false });

/** Ceilings of operators that are neither exact nor sums of terms of one sign. */
const ceilings: Readonly<Partial<Record<Op, Ceiling>>> = {
  Sign: exactUpToZero,
  Reciprocal: rounded,
  // The floor is near the smallest normal number, since an approximation may give anything for a subnormal result.
  Exp: smooth(4, 2 ** -120),
  Log: smooth(4, 2 ** -4),
  Sqrt: rounded,
  Erf: smooth(8, 2 ** -4),
  Tanh: smooth(8, 2 ** -4),
  Sigmoid: smooth(4, 1),
  Relu: exactUpToZero,
  Softplus: smooth(4, 1),
  Sin: smooth(4, 1),
  Cos: smooth(4, 1),
  LeakyRelu: rounded,
  Elu: smooth(4, 2 ** -4),
  Gelu: smooth(8, 1),
  Clip: exactUpToZero,
  Div: rounded,
  Pow: smooth(16, 2 ** -120),
  Min: exactUpToZero,
  Max: exactUpToZero,
  // Weighted means of values of mixed sign. The weights are exponentials of sums, and so carry the errors of the sums.
  Attention: smooth(64, 1),
  AttentionGradient: smooth(64, 1),
  ReduceMax: exactUpToZero,
  ReduceMin: exactUpToZero,
  ReduceLogSum: smooth(16, 1),
  ReduceLogSumExp: smooth(16, 1),
  TopK: exactUpToZero,
  MaxPool: exactUpToZero,
  AveragePool: smooth(16, 1),
  Softmax: smooth(16, 2 ** -20),
  LogSoftmax: smooth(16, 1),
  SoftmaxCrossEntropyLoss: smooth(16, 1),
  NegativeLogLikelihoodLoss: smooth(16, 1),
  LayerNormalization: smooth(16, 1),
  RMSNormalization: smooth(16, 2 ** -4),
  // Two sums over a channel; terms of mixed sign cancel in the mean.
  BatchNormalization: smooth(64, 1),
  // `none` only moves bits; other reductions are tested on data whose sums do not depend on the order.
  ScatterElements: sum(2),
  ScatterND: sum(2),
  Range: smooth(2, 1),
  // Gradients are summed where windows overlap.
  MaxPoolGradient: smooth(4, 1),
  BatchNormalizationGradient: smooth(64, 1),
};

/** The largest tolerance that a manifest may declare for the operator, in ulps. */
export function ceilingOf(op: Op): Ceiling {
  const { ulp } = opTable[op];
  return ceilings[op] ?? (ulp === undefined ? exact : sum(ulp));
}
