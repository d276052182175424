/**
 * Facts about each operator: the dtypes that it takes, its precision under casting policies, whether it moves, rounds
 * or sums, and its cost. The files of its family define its results.
 */

import { DTYPES, type DType, type HalfDType } from "../dtype.js";
import type { GraphNode, Op } from "./attributes.js";
import type { CastCategory } from "./category.js";
import { contractionFlops } from "./contraction-path.js";
import { readContraction } from "./einsum-equation.js";
import type { AddingOp } from "./families.js";
import { type FlopsRule, none, perOperand, perResult, perUpdate, size, taps, windowSize } from "./flops.js";
import type { ValueType } from "./graph.js";

export interface OpRow<K extends Op> {
  /** The dtypes that type inference accepts; a manifest's `ops` is a subset. */
  readonly dtypes: readonly DType[];
  readonly cast: Readonly<Record<HalfDType, CastCategory>>;
  /** The dtype of the result, if it does not depend on the operands. */
  readonly result?: DType;
  /** Where the elements of the result come from, if none of them is computed. */
  readonly moves?: Moves;
  /** Whether every result is representable: an element of an operand, its negative, or an integer. */
  readonly exact?: true;
  /** Whether the operator adds up many terms. It does so in f32, whatever its operands' dtype, and rounds once. */
  readonly sums?: K extends AddingOp ? true : never;
  /** Tolerance in ulps for a library's f32 kernel, by default 4. In f16 and bf16 it is always 1. */
  readonly ulp?: number;
  /** The reason why the operator is decomposed for an engine whose manifest lists no kernel for it. */
  readonly parts?: string;
  readonly flops: FlopsRule<K>;
}

/**
 * - `view`: all elements of the first operand in their order, in the same memory.
 * - `copies`: all elements of the operand, at other positions or several times.
 * - `joins`: all elements of all operands.
 * - `slices`, `looks-up`: some elements of the first operand, by attributes or by indices that are data.
 * - `fills`: values that no operand holds, alone or beside elements of an operand.
 */
type Moves = "view" | "copies" | "joins" | "slices" | "looks-up" | "fills";

export const FLOATS: readonly DType[] = ["f32", "f16", "bf16"];
export const NUMBERS: readonly DType[] = ["f32", "f16", "bf16", "i32", "i64", "u64", "u8"];
const SIGNED: readonly DType[] = ["f32", "f16", "bf16", "i32", "i64"];
const BOOL: readonly DType[] = ["bool"];

type Row = OpRow<Op>["cast"];

const both = (category: CastCategory): Row => ({ f16: category, bf16: category });
const row = (f16: CastCategory, bf16: CastCategory): Row => ({ f16, bf16 });

/** Columns that rows share: `product` for sums of products, `sum` for other sums, `normalized` for normalizations. */
const product = { dtypes: FLOATS, cast: both("low"), sums: true, ulp: 64 } as const;
const sum = { dtypes: FLOATS, cast: row("deny", "f32"), sums: true } as const;
const normalized = { dtypes: FLOATS, cast: row("f32", "between"), sums: true, ulp: 16 } as const;

/**
 * One row for each operator. With f16, ops that leave its range (exponentials, powers, sums) stay in f32, and so do
 * infer, between, widest and clear ops downstream of a deny op, up to the next low, f32 or fixed op. bf16 has the
 * range of f32, so only ops that need more than 8 bits (sums, logarithms, phases) stay in f32.
 */
export const opTable: { readonly [K in Op]: OpRow<K> } = {
  Abs: { dtypes: SIGNED, cast: both("clear"), exact: true, flops: perResult(1) },
  Neg: { dtypes: SIGNED, cast: both("clear"), exact: true, flops: perResult(1) },
  Sign: { dtypes: SIGNED, cast: both("widest"), exact: true, flops: perResult(1) },
  Floor: { dtypes: FLOATS, cast: both("widest"), exact: true, flops: perResult(1) },
  Ceil: { dtypes: FLOATS, cast: both("widest"), exact: true, flops: perResult(1) },
  Round: { dtypes: FLOATS, cast: both("widest"), exact: true, flops: perResult(1) },
  Reciprocal: { dtypes: FLOATS, cast: row("f32", "widest"), flops: perResult(1) },
  Exp: { dtypes: FLOATS, cast: row("deny", "widest"), flops: perResult(1) },
  Log: { dtypes: FLOATS, cast: row("deny", "f32"), flops: perResult(1) },
  Sqrt: { dtypes: FLOATS, cast: row("infer", "widest"), flops: perResult(1) },
  Erf: { dtypes: FLOATS, cast: row("infer", "widest"), flops: perResult(1) },
  Tanh: { dtypes: FLOATS, cast: both("widest"), ulp: 8, flops: perResult(1) },
  Sigmoid: { dtypes: FLOATS, cast: both("widest"), flops: perResult(1) },
  Relu: { dtypes: FLOATS, cast: both("clear"), exact: true, flops: perResult(1) },
  Softplus: { dtypes: FLOATS, cast: row("f32", "widest"), flops: perResult(1) },
  Sin: { dtypes: FLOATS, cast: row("widest", "f32"), flops: perResult(1) },
  Cos: { dtypes: FLOATS, cast: row("widest", "f32"), flops: perResult(1) },
  LeakyRelu: { dtypes: FLOATS, cast: both("widest"), flops: perResult(2) },
  Elu: { dtypes: FLOATS, cast: row("infer", "widest"), flops: perResult(2) },
  Gelu: { dtypes: FLOATS, cast: row("infer", "widest"), ulp: 8, flops: perResult(4) },
  // Not `clear`: Clip commutes with rounding only if its bounds are exact in the half dtype.
  Clip: { dtypes: NUMBERS, cast: both("widest"), flops: perResult(2) },
  Not: { dtypes: BOOL, cast: both("fixed"), result: "bool", flops: perResult(1) },
  IsNaN: { dtypes: FLOATS, cast: both("widest"), result: "bool", flops: perResult(1) },
  IsInf: { dtypes: FLOATS, cast: both("widest"), result: "bool", flops: perResult(1) },
  Identity: { dtypes: DTYPES, cast: both("clear"), moves: "view", flops: none },
  Cast: { dtypes: DTYPES, cast: both("fixed"), flops: none },

  Add: { dtypes: NUMBERS, cast: both("widest"), flops: perResult(1) },
  Sub: { dtypes: NUMBERS, cast: both("widest"), flops: perResult(1) },
  Mul: { dtypes: NUMBERS, cast: both("widest"), flops: perResult(1) },
  Div: { dtypes: NUMBERS, cast: both("widest"), flops: perResult(1) },
  Pow: { dtypes: FLOATS, cast: row("deny", "widest"), flops: perResult(1) },
  Mod: { dtypes: ["f32", "f16", "bf16", "i32", "i64", "u8"], cast: both("widest"), flops: perResult(1) },
  Min: { dtypes: NUMBERS, cast: both("widest"), exact: true, flops: perResult(1) },
  Max: { dtypes: NUMBERS, cast: both("widest"), exact: true, flops: perResult(1) },
  Equal: { dtypes: [...NUMBERS, "bool"], cast: both("widest"), result: "bool", flops: perResult(1) },
  Greater: { dtypes: NUMBERS, cast: both("widest"), result: "bool", flops: perResult(1) },
  GreaterOrEqual: { dtypes: NUMBERS, cast: both("widest"), result: "bool", flops: perResult(1) },
  Less: { dtypes: NUMBERS, cast: both("widest"), result: "bool", flops: perResult(1) },
  LessOrEqual: { dtypes: NUMBERS, cast: both("widest"), result: "bool", flops: perResult(1) },
  And: { dtypes: BOOL, cast: both("fixed"), result: "bool", flops: perResult(1) },
  Or: { dtypes: BOOL, cast: both("fixed"), result: "bool", flops: perResult(1) },
  Xor: { dtypes: BOOL, cast: both("fixed"), result: "bool", flops: perResult(1) },
  Where: { dtypes: DTYPES, cast: both("widest"), exact: true, flops: perResult(1) },

  MatMul: { ...product, flops: (inputs, outputs) => 2 * size(outputs, 0) * (inputs[0]?.shape.at(-1) ?? 0) },
  Gemm: {
    ...product,
    flops: (inputs, outputs, { transA, alpha, beta }) => {
      const terms = 2 * (inputs[0]?.shape[transA ? 0 : 1] ?? 0);
      const bias = inputs[2] === undefined ? 0 : beta === 1 ? 1 : 2;
      return size(outputs, 0) * (terms + (alpha === 1 ? 0 : 1) + bias);
    },
  },
  Einsum: {
    ...product,
    dtypes: NUMBERS,
    flops: (inputs, _, { equation }) =>
      contractionFlops(
        readContraction(
          equation,
          inputs.map(({ shape }) => shape),
        ),
      ),
  },

  /** Two products, and a softmax of the scores. */
  Attention: {
    ...product,
    flops: (inputs, _, { softcap }) => scoreFlops(inputs, softcap, [1, 1], 5),
  },

  Conv: {
    ...product,
    flops: (inputs, outputs) => size(outputs, 0) * (2 * taps(inputs[1]) + (inputs[2] === undefined ? 0 : 1)),
  },
  ConvTranspose: {
    ...product,
    flops: (inputs, outputs) =>
      2 * size(inputs, 0) * taps(inputs[1]) + (inputs[2] === undefined ? 0 : size(outputs, 0)),
  },

  ReduceSum: { ...sum, dtypes: NUMBERS, ulp: 64, flops: perOperand(1) },
  ReduceMean: { ...sum, ulp: 64, flops: perOperand(1, 1) },
  ReduceMax: { dtypes: NUMBERS, cast: both("widest"), exact: true, flops: perOperand(1) },
  ReduceMin: { dtypes: NUMBERS, cast: both("widest"), exact: true, flops: perOperand(1) },
  ReduceProd: { ...sum, dtypes: NUMBERS, ulp: 64, flops: perOperand(1) },
  ReduceL1: { ...sum, ulp: 64, flops: perOperand(2) },
  ReduceL2: { ...sum, ulp: 64, flops: perOperand(2, 1) },
  ReduceLogSum: { ...sum, flops: perOperand(1, 1) },
  ReduceLogSumExp: { ...sum, flops: perOperand(4, 2) },
  ReduceSumSquare: { ...sum, ulp: 64, flops: perOperand(2) },
  ArgMax: { dtypes: NUMBERS, cast: both("widest"), flops: perOperand(1) },
  ArgMin: { dtypes: NUMBERS, cast: both("widest"), flops: perOperand(1) },
  /** Counts one operation per element; the number of comparisons of a sort depends on the engine. */
  TopK: { dtypes: NUMBERS, cast: row("widest", "f32"), exact: true, flops: perOperand(1) },
  CumSum: { dtypes: SIGNED, cast: both("f32"), sums: true, ulp: 64, flops: perOperand(1) },

  /** One operation per element of each window; AveragePool also divides. */
  MaxPool: {
    dtypes: FLOATS,
    cast: both("clear"),
    exact: true,
    flops: (_, outputs, { kernelShape }) => size(outputs, 0) * windowSize(kernelShape),
  },
  AveragePool: {
    dtypes: FLOATS,
    cast: row("infer", "widest"),
    sums: true,
    ulp: 16,
    flops: (_, outputs, { kernelShape }) => size(outputs, 0) * (windowSize(kernelShape) + 1),
  },

  /** Maximum 1, subtraction 1, exponential 1, sum 1, division 1. */
  Softmax: { ...normalized, flops: perOperand(5) },
  LogSoftmax: { ...sum, flops: perOperand(5) },
  SoftmaxCrossEntropyLoss: { ...sum, flops: (inputs) => 5 * size(inputs, 0) + 2 * size(inputs, 1) },
  NegativeLogLikelihoodLoss: { ...sum, flops: (inputs) => 2 * size(inputs, 1) },
  /** Mean 1, center 1, variance 2, scaling by 1/std and by the weights 2; a bias 1. */
  LayerNormalization: {
    ...normalized,
    flops: (inputs) => (inputs[2] === undefined ? 6 : 7) * size(inputs, 0),
  },
  RMSNormalization: { ...normalized, flops: perOperand(4) },
  /** Mean 1, center 1, variance 2, scale 1, shift 1. */
  BatchNormalization: { ...normalized, ulp: 64, flops: perOperand(6) },

  Reshape: { dtypes: DTYPES, cast: both("clear"), moves: "view", flops: none },
  Transpose: { dtypes: DTYPES, cast: both("clear"), moves: "copies", flops: none },
  Slice: { dtypes: DTYPES, cast: both("clear"), moves: "slices", flops: none },
  Concat: { dtypes: DTYPES, cast: both("clear"), moves: "joins", flops: none },
  Split: { dtypes: DTYPES, cast: both("clear"), moves: "slices", flops: none },
  // No cast moves upstream of a lookup, because the lookup reads far less than the table that the cast would copy, and
  // because the gradient must be scattered in f32.
  Gather: { dtypes: DTYPES, cast: both("widest"), moves: "looks-up", flops: none },
  GatherElements: { dtypes: DTYPES, cast: both("widest"), moves: "looks-up", flops: none },
  GatherND: { dtypes: DTYPES, cast: both("widest"), moves: "looks-up", flops: none },
  ScatterElements: { dtypes: DTYPES, cast: row("widest", "f32"), sums: true, flops: perUpdate },
  ScatterND: { dtypes: DTYPES, cast: row("widest", "f32"), sums: true, flops: perUpdate },
  Expand: { dtypes: DTYPES, cast: both("clear"), moves: "copies", flops: none },
  Squeeze: { dtypes: DTYPES, cast: both("clear"), moves: "view", flops: none },
  Unsqueeze: { dtypes: DTYPES, cast: both("clear"), moves: "view", flops: none },
  Pad: { dtypes: DTYPES, cast: both("clear"), moves: "fills", flops: none },
  Tile: { dtypes: DTYPES, cast: both("clear"), moves: "copies", flops: none },
  OneHot: { dtypes: ["i32"], cast: both("fixed"), moves: "fills", exact: true, flops: none },

  /** Policies apply to the operators in the body; flops count each of them once per step. */
  Scan: {
    dtypes: DTYPES,
    cast: both("fixed"),
    flops: (_, __, { body, length }) => length * body.nodes.reduce((sum, node) => sum + nodeFlops(node), 0),
  },

  Constant: { dtypes: DTYPES, cast: both("fixed"), moves: "fills", exact: true, flops: none },
  Range: { dtypes: DTYPES, cast: both("fixed"), moves: "fills", flops: none },

  /** Four squarings of 64 bits and the operations between them. */
  RandomBits: { dtypes: ["i32"], cast: both("fixed"), flops: perResult(16) },
  /** Scores and softmax again, products for dv, dp, dq and dk, and 4 for the gradient of the softmax. */
  AttentionGradient: {
    ...product,
    parts: "it is computed as products and a softmax",
    flops: (inputs, _, { softcap }) => scoreFlops(inputs.slice(1), softcap, [3, 2], 9),
  },
  /** A search, and one addition per window. */
  MaxPoolGradient: {
    dtypes: FLOATS,
    cast: both("widest"),
    sums: true,
    flops: (inputs, _, { kernelShape }) => size(inputs, 0) * (windowSize(kernelShape) + 1),
  },
  /** Center 1, the two sums 3, dx 5. */
  BatchNormalizationGradient: { ...normalized, ulp: 64, flops: perOperand(9) },
  ConvWeightGradient: { ...product, flops: (inputs, outputs) => 2 * size(inputs, 1) * taps(outputs[0]) },
  // Fixes an order of execution, which moving a cast upstream of it would undo.
  Barrier: { dtypes: DTYPES, cast: both("widest"), moves: "view", flops: none },
};

/**
 * Operations for all scores. Each score takes `sizes` products over the query size, `valueSizes` products over the
 * value size, `other` operations, 1 for a mask and 3 for a softcap.
 */
function scoreFlops(
  [query, , value, mask]: readonly ValueType[],
  softcap: number,
  [sizes, valueSizes]: readonly [number, number],
  other: number,
): number {
  const [batch = 0, heads = 0, time = 0, size = 0] = query?.shape ?? [];
  const [keys = 0, valueSize = 0] = value?.shape.slice(2) ?? [];
  const products = 2 * (sizes * size + valueSizes * valueSize);
  const added = (mask === undefined ? 0 : 1) + (softcap > 0 ? 3 : 0);
  return batch * heads * time * keys * (products + other + added);
}

function nodeFlops<K extends Op>({ op, inputs, outputs, attributes }: GraphNode<K>): number {
  return opTable[op].flops(inputs, outputs, attributes);
}

/** All operators, in the order of the table. */
export const OPS = Object.keys(opTable) as readonly Op[];
