/**
 * The families of operators. Each stage (tracing, type inference, gradients, the reference, ONNX reading and writing,
 * each engine's lowerings, the conformance samples) has one file per family, named after it. Every operator is in
 * exactly one family.
 */
export const FAMILIES = {
  /** Functions of each element. */
  unary: [
    "Abs",
    "Neg",
    "Sign",
    "Floor",
    "Ceil",
    "Round",
    "Reciprocal",
    "Exp",
    "Log",
    "Sqrt",
    "Erf",
    "Tanh",
    "Sigmoid",
    "Relu",
    "Softplus",
    "Sin",
    "Cos",
    "LeakyRelu",
    "Elu",
    "Gelu",
    "Clip",
    "Not",
    "IsNaN",
    "IsInf",
    "Identity",
    "Cast",
  ],
  /** Functions of the elements of operands that broadcast. */
  binary: [
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Pow",
    "Mod",
    "Min",
    "Max",
    "Equal",
    "Greater",
    "GreaterOrEqual",
    "Less",
    "LessOrEqual",
    "And",
    "Or",
    "Xor",
    // `Where` has a third operand, the condition, which broadcasts like the other two.
    "Where",
  ],
  matrix: ["MatMul", "Gemm", "Einsum"],
  attention: ["Attention", "AttentionGradient"],
  convolution: ["Conv", "ConvTranspose", "ConvWeightGradient"],
  /** Reductions, searches for extremes and cumulative sums along axes. */
  reduce: [
    "ReduceSum",
    "ReduceMean",
    "ReduceMax",
    "ReduceMin",
    "ReduceProd",
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceSumSquare",
    "ArgMax",
    "ArgMin",
    "TopK",
    "CumSum",
  ],
  pooling: ["MaxPool", "AveragePool", "MaxPoolGradient"],
  normalization: ["Softmax", "LogSoftmax", "LayerNormalization", "RMSNormalization"],
  "batch-normalization": ["BatchNormalization", "BatchNormalizationGradient"],
  loss: ["SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"],
  /** Rearrangements of elements that depend only on the attributes. */
  movement: [
    "Reshape",
    "Transpose",
    "Slice",
    "Concat",
    "Split",
    "Expand",
    "Squeeze",
    "Unsqueeze",
    "Pad",
    "Tile",
  ],
  /** Reads and writes at indices that are data. */
  indexing: ["Gather", "GatherElements", "GatherND", "ScatterElements", "ScatterND", "OneHot"],
  /** Operators that run a graph many times. */
  loop: ["Scan"],
  /** Operators that create values or fix the order of execution. */
  source: ["Constant", "Range", "RandomBits", "Barrier"],
} as const;

export type Family = keyof typeof FAMILIES;

/** The operators of a family. */
export type OpOf<F extends Family> = (typeof FAMILIES)[F][number];

/** The `Reduce…` operators, without the other operators of their family. */
export type ReduceOp = Extract<OpOf<"reduce">, `Reduce${string}`>;

/** The operators of `ReduceOp`. */
export const REDUCE_OPS: readonly ReduceOp[] = FAMILIES.reduce.filter((op): op is ReduceOp =>
  op.startsWith("Reduce"),
);

/** Operators that sum products: nearly all of a model's arithmetic. */
export const PRODUCT_OPS: readonly OpOf<"matrix" | "convolution">[] = [
  ...FAMILIES.matrix,
  ...FAMILIES.convolution,
];

/** Makes a table with one row per operator, the result of `row`. */
export function rowsOf<K extends string, V>(ops: readonly K[], row: (op: K) => V): { readonly [P in K]: V } {
  return Object.fromEntries(ops.map((op) => [op, row(op)])) as { readonly [P in K]: V };
}

/** The operators that find the position of an extreme. */
export type ArgOp = Extract<OpOf<"reduce">, `Arg${string}`>;

export type SoftmaxOp = Extract<OpOf<"normalization">, `${string}Softmax`>;

/** Operators that accumulate sums or products of many terms. */
export type AddingOp =
  | OpOf<"matrix" | "convolution" | "attention" | "normalization" | "batch-normalization" | "loss">
  | Exclude<ReduceOp, "ReduceMax" | "ReduceMin">
  | "CumSum"
  | "AveragePool"
  | "MaxPoolGradient"
  | ScatterOp;

export type ScatterOp = Extract<OpOf<"indexing">, `Scatter${string}`>;
