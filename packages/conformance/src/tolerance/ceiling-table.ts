/**
 * The largest tolerance that a backend may declare, per op and dtype: part of the specification, so that none passes by
 * declaring a billion ulp. Making an entry stricter requires a major version of this package.
 */
import { type ComputeDType, type Op, opTable } from "@mp/graph";
import type { Ulp } from "@mp/graph/internal";

export interface Ceiling extends Readonly<Record<ComputeDType, Ulp>> {
  /**
   * An ulp is never smaller than that of this magnitude. 0: relative to the result throughout. 1: absolute, for
   * functions that are built from terms of that size and cancel (1 + erf, a sigmoid's tail).
   */
  readonly floor: number;
  /** Whether the sign of a zero result is specified. */
  readonly signedZero: boolean;
}

/** Moves values or chooses among them: every bit is kept. */
const exact: Ceiling = { f32: 0, f16: 0, bf16: 0, floor: 0, signedZero: true };
/** Exact, but IEEE 754 and the engines leave the sign of zero open. */
const exactUpToZero: Ceiling = { ...exact, signedZero: false };
/** Correctly rounded in IEEE 754; one ulp for engines that divide by multiplying. */
const rounded: Ceiling = { f32: 1, f16: 1, bf16: 1, floor: 0, signedZero: true };

/**
 * A function of one element. Halves are computed in f32 and rounded once, so they are correctly rounded or one ulp off.
 */
const smooth = (f32: Ulp, floor = 0): Ceiling => ({ f32, f16: 1, bf16: 1, floor, signedZero: false });
/** A sum of terms of one sign, in any order, in f32; errors grow with its length. */
const sum = (f32: Ulp): Ceiling => ({ f32, f16: 1, bf16: 1, floor: 0, signedZero: false });

/** Ceilings of operators that neither are exact nor give sums of terms of one sign. */
const ceilings: Readonly<Partial<Record<Op, Ceiling>>> = {
  Sign: exactUpToZero,
  Reciprocal: rounded,
  // Near the smallest normal number: an approximation may give anything for a subnormal result.
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
  // Means of values of mixed sign, by shares whose exponents carry the error of a sum.
  Attention: smooth(64, 1),
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
  // Two sums over a channel, and means of mixed sign cancel.
  BatchNormalization: smooth(64, 1),
  // `none` moves bits; for the other reductions sums are tested where every order gives the same result.
  ScatterElements: sum(2),
  ScatterND: sum(2),
  Range: smooth(2, 1),
  // Sums where windows overlap.
  MaxPoolGradient: smooth(4, 1),
  BatchNormalizationGradient: smooth(64, 1),
};

/** The widest tolerance that a manifest may declare for the operator, in units in the last place. */
export function ceilingOf(op: Op): Ceiling {
  const { ulp } = opTable[op];
  return ceilings[op] ?? (ulp === undefined ? exact : sum(ulp));
}
