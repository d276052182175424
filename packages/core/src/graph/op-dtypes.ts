import { DTYPES, type DType, isFloat } from "../dtype.js";
import type { Op } from "./attributes.js";
import type { ValueType } from "./graph.js";

export const FLOATS: readonly DType[] = ["f32", "f16", "bf16"];
export const NUMBERS: readonly DType[] = ["f32", "f16", "bf16", "i32", "i64", "u64", "u8"];
const SIGNED: readonly DType[] = ["f32", "f16", "bf16", "i32", "i64"];
const INDEXED: readonly DType[] = ["f32", "f16", "bf16", "i32", "i64"];
const BOOL: readonly DType[] = ["bool"];

/**
 * The dtypes of the deciding operand that each op supports, which type inference checks; a manifest's `ops` is a
 * subset.
 */
export const opDTypes: Readonly<Record<Op, readonly DType[]>> = {
  Abs: SIGNED,
  Neg: SIGNED,
  Sign: SIGNED,
  Floor: FLOATS,
  Ceil: FLOATS,
  Round: FLOATS,
  Reciprocal: FLOATS,
  Exp: FLOATS,
  Log: FLOATS,
  Sqrt: FLOATS,
  Erf: FLOATS,
  Tanh: FLOATS,
  Sigmoid: FLOATS,
  Relu: FLOATS,
  Softplus: FLOATS,
  Sin: FLOATS,
  Cos: FLOATS,
  LeakyRelu: FLOATS,
  Elu: FLOATS,
  Gelu: FLOATS,
  Clip: NUMBERS,
  Not: BOOL,
  IsNaN: FLOATS,
  IsInf: FLOATS,
  Identity: DTYPES,
  Cast: DTYPES,
  Add: NUMBERS,
  Sub: NUMBERS,
  Mul: NUMBERS,
  Div: NUMBERS,
  Pow: FLOATS,
  Mod: ["f32", "f16", "bf16", "i32", "i64", "u8"],
  Min: NUMBERS,
  Max: NUMBERS,
  Equal: [...NUMBERS, "bool"],
  Greater: NUMBERS,
  GreaterOrEqual: NUMBERS,
  Less: NUMBERS,
  LessOrEqual: NUMBERS,
  And: BOOL,
  Or: BOOL,
  Xor: BOOL,
  Where: DTYPES,
  MatMul: FLOATS,
  Gemm: FLOATS,
  Einsum: NUMBERS,
  Conv: FLOATS,
  ConvTranspose: FLOATS,
  ReduceSum: NUMBERS,
  ReduceMean: FLOATS,
  ReduceMax: NUMBERS,
  ReduceMin: NUMBERS,
  ReduceProd: NUMBERS,
  ReduceL1: FLOATS,
  ReduceL2: FLOATS,
  ReduceLogSum: FLOATS,
  ReduceLogSumExp: FLOATS,
  ReduceSumSquare: FLOATS,
  ArgMax: NUMBERS,
  ArgMin: NUMBERS,
  TopK: NUMBERS,
  CumSum: INDEXED,
  MaxPool: FLOATS,
  AveragePool: FLOATS,
  Softmax: FLOATS,
  LogSoftmax: FLOATS,
  SoftmaxCrossEntropyLoss: FLOATS,
  NegativeLogLikelihoodLoss: FLOATS,
  LayerNormalization: FLOATS,
  RMSNormalization: FLOATS,
  BatchNormalization: FLOATS,
  Reshape: DTYPES,
  Transpose: DTYPES,
  Slice: DTYPES,
  Concat: DTYPES,
  Split: DTYPES,
  Gather: DTYPES,
  GatherElements: DTYPES,
  GatherND: DTYPES,
  ScatterElements: DTYPES,
  ScatterND: DTYPES,
  Expand: DTYPES,
  Squeeze: DTYPES,
  Unsqueeze: DTYPES,
  Pad: DTYPES,
  Tile: DTYPES,
  OneHot: ["i32"],
  Constant: DTYPES,
  Range: DTYPES,
  RandomBits: ["u64"],
  MaxPoolGradient: FLOATS,
  BatchNormalizationGradient: FLOATS,
  ConvWeightGradient: FLOATS,
  Barrier: DTYPES,
};

/** Ops whose first operand does not decide what they compute in. */
const decidingOperand: Readonly<Partial<Record<Op, number>>> = { Where: 1 };

/**
 * The dtype by which a manifest lists a node as supported: that of its first floating operand, else of its first
 * operand (for Where, of x), else (for a source) of its result.
 */
export function decidingDType(node: {
  readonly op: Op;
  readonly inputs: readonly ValueType[];
  readonly outputs: readonly ValueType[];
}): DType {
  const floating = node.inputs.find(({ dtype }) => isFloat(dtype));
  const type = floating ?? node.inputs[decidingOperand[node.op] ?? 0] ?? node.outputs[0];
  if (type === undefined) throw new Error("internal: a node without operands and results");
  return type.dtype;
}
