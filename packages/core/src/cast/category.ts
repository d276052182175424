/**
 * The cast category of each operator, per half dtype. The categories follow the lists of other frameworks (PyTorch
 * autocast, TensorFlow's auto_mixed_precision, MXNet, Paddle, Apex), with one category per op.
 */
import type { HalfDType } from "../dtype.js";
import type { Op } from "../graph/attributes.js";

/**
 * - `low`: safe and faster in low precision (matrix products): always in the compute dtype.
 * - `f32`: computed in f32; ops downstream are decided on their own.
 * - `deny`: computed in f32, and so is every infer, between or deny node that its result reaches.
 * - `infer`: low between low-precision ops and downstream of one.
 * - `between`: low between low-precision ops, otherwise f32: ops that accumulate in f32, whose low-precision result
 *   pays off only where a low-precision op reads it.
 * - `widest`: the widest dtype among its operands that are not weak; with one operand, that operand's.
 * - `clear`: like `widest`. Since it commutes with rounding, it is also lowered where every consumer is low-precision,
 *   which moves the cast upstream of it.
 * - `fixed`: as written: an attribute gives the dtype, or no floats are involved.
 */
export const CAST_CATEGORIES = [
  "low",
  "f32",
  "deny",
  "infer",
  "between",
  "widest",
  "clear",
  "fixed",
] as const;

export type CastCategory = (typeof CAST_CATEGORIES)[number];

type Row = Readonly<Record<HalfDType, CastCategory>>;

const both = (category: CastCategory): Row => ({ f16: category, bf16: category });
const row = (f16: CastCategory, bf16: CastCategory): Row => ({ f16, bf16 });

/**
 * With f16, ops that leave its range (exponentials, powers, sums) stay in f32, and so do infer, between and deny ops
 * downstream of a deny op. bf16 has f32's range, so only ops that need more than 8 bits (sums, logarithms, phases) stay
 * in f32.
 */
export const castCategories: Readonly<Record<Op, Row>> = {
  Abs: both("clear"),
  Neg: both("clear"),
  Sign: both("widest"),
  Floor: both("widest"),
  Ceil: both("widest"),
  Round: both("widest"),
  Reciprocal: row("f32", "widest"),
  Exp: row("deny", "widest"),
  Log: row("deny", "f32"),
  Sqrt: row("infer", "widest"),
  Erf: row("infer", "widest"),
  Tanh: both("widest"),
  Sigmoid: both("widest"),
  Relu: both("clear"),
  Softplus: row("f32", "widest"),
  Sin: row("widest", "f32"),
  Cos: row("widest", "f32"),
  LeakyRelu: both("widest"),
  Elu: row("infer", "widest"),
  Gelu: row("infer", "widest"),
  // Commutes with rounding only when its bounds do, so it is not `clear`.
  Clip: both("widest"),
  Not: both("fixed"),
  IsNaN: both("widest"),
  IsInf: both("widest"),
  Identity: both("clear"),
  Cast: both("fixed"),

  Add: both("widest"),
  Sub: both("widest"),
  Mul: both("widest"),
  Div: both("widest"),
  Pow: row("deny", "widest"),
  Mod: both("widest"),
  Min: both("widest"),
  Max: both("widest"),
  Equal: both("widest"),
  Greater: both("widest"),
  GreaterOrEqual: both("widest"),
  Less: both("widest"),
  LessOrEqual: both("widest"),
  And: both("fixed"),
  Or: both("fixed"),
  Xor: both("fixed"),
  Where: both("widest"),

  MatMul: both("low"),
  Gemm: both("low"),
  Einsum: both("low"),
  Conv: both("low"),
  ConvTranspose: both("low"),

  ReduceSum: row("deny", "f32"),
  ReduceMean: row("deny", "f32"),
  ReduceMax: both("widest"),
  ReduceMin: both("widest"),
  ReduceProd: row("deny", "f32"),
  ReduceL1: row("deny", "f32"),
  ReduceL2: row("deny", "f32"),
  ReduceLogSum: row("deny", "f32"),
  ReduceLogSumExp: row("deny", "f32"),
  ReduceSumSquare: row("deny", "f32"),
  ArgMax: both("widest"),
  ArgMin: both("widest"),
  TopK: row("widest", "f32"),
  CumSum: both("f32"),

  MaxPool: both("clear"),
  AveragePool: row("infer", "widest"),

  Softmax: row("f32", "between"),
  LogSoftmax: row("deny", "f32"),
  SoftmaxCrossEntropyLoss: row("deny", "f32"),
  NegativeLogLikelihoodLoss: row("deny", "f32"),
  LayerNormalization: row("f32", "between"),
  RMSNormalization: row("f32", "between"),
  BatchNormalization: row("f32", "between"),

  Reshape: both("clear"),
  Transpose: both("clear"),
  Slice: both("clear"),
  Concat: both("clear"),
  Split: both("clear"),
  // Follows its data, but no cast moves upstream of it: a lookup reads far less than the table that a cast would copy,
  // and the gradient must be scattered in f32.
  Gather: both("widest"),
  GatherElements: both("widest"),
  GatherND: both("widest"),
  ScatterElements: row("widest", "f32"),
  ScatterND: row("widest", "f32"),
  Expand: both("clear"),
  Squeeze: both("clear"),
  Unsqueeze: both("clear"),
  Pad: both("clear"),
  Tile: both("clear"),
  OneHot: both("fixed"),

  Constant: both("fixed"),
  Range: both("fixed"),

  RandomBits: both("fixed"),
  MaxPoolGradient: both("widest"),
  BatchNormalizationGradient: row("f32", "between"),
  ConvWeightGradient: both("low"),
  // Fixes an order of execution, which moving a cast upstream of it would undo.
  Barrier: both("widest"),
};

/**
 * Ops whose only numerical risk is their sum: `between` where the backend's kernel for that half accumulates in f32,
 * `f32` where it does not. The table above applies when no backend is known.
 */
export const summingOps: ReadonlySet<Op> = new Set<Op>([
  "Softmax",
  "LayerNormalization",
  "RMSNormalization",
  "BatchNormalization",
  "BatchNormalizationGradient",
]);

/**
 * Number of leading operands that are cast to the node's dtype together, if not all of them. A normalization takes
 * scale, bias and statistics in f32 beside halves; a barrier's further operands only fix an order.
 */
export const leadingOperands: Readonly<Partial<Record<Op, number>>> = {
  BatchNormalization: 1,
  BatchNormalizationGradient: 2,
  Barrier: 1,
};
