/**
 * What each operator asks of a casting policy, per half dtype. The columns are those of the frameworks' own
 * lists (PyTorch autocast, TensorFlow's auto_mixed_precision, MXNet, Paddle, Apex), with one answer an op.
 */
import type { HalfDType } from "../dtype.js";
import type { Op } from "./attributes.js";

/**
 * - `low`: worth lowering and safe (matrix products): always in the compute dtype.
 * - `f32`: computed in f32; what follows is free again.
 * - `deny`: computed in f32, and so is every infer, between or deny node that its result reaches.
 * - `infer`: low between low nodes and behind one.
 * - `between`: low between low nodes, otherwise f32: what sums in f32 inside, and is worth a low result only where
 *   a low node takes it.
 * - `widest`: the widest dtype among its operands that are not weak; with one operand, that operand's.
 * - `clear`: as `widest`; since it commutes with rounding, it is also lowered where every reader is low, which
 *   moves the cast in front of it.
 * - `fixed`: as written: dtype given by an attribute, or nothing to do with floats.
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
 * f16 keeps what leaves its range (exponentials, powers, sums) in f32 and lets it contaminate; bf16 has f32's
 * range, so there only what needs more than 8 bits (sums, logarithms, phases) stays.
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
  // Commutes with rounding only when its bounds do, so it is no `clear`.
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
  // Follows its data but lets no cast in front: a look-up reads far less than the table that a cast would copy,
  // and the gradient is to be scattered in f32.
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
  // Orders; moving a cast in front of it would undo that.
  Barrier: both("widest"),
};

/**
 * Ops whose range is tame and whose only danger is the sum inside: `between` where the kernel of that half sums in
 * f32, `f32` where it does not. The table above says what holds while no backend is known.
 */
export const summingOps: ReadonlySet<Op> = new Set<Op>([
  "Softmax",
  "LayerNormalization",
  "RMSNormalization",
  "BatchNormalization",
  "BatchNormalizationGradient",
]);

/**
 * How many operands are brought to the dtype of the node together, where that is not all: a normalisation takes its
 * channels' parameters and statistics in f32 beside halves, and a barrier's further operands only order.
 */
export const leadingOperands: Readonly<Partial<Record<Op, number>>> = {
  BatchNormalization: 1,
  BatchNormalizationGradient: 2,
  Barrier: 1,
};
