import type { ComputeDType, DType } from "../dtype.js";
import type { HostTensor } from "../host/host-tensor.js";
import type { Shape } from "../shape.js";

type None = Readonly<Record<never, never>>;
interface Reduce {
  /** Normalized to 0 … rank-1, ascending; empty only if the input is a scalar. */
  readonly axes: readonly number[];
  readonly keepdims: boolean;
}
interface ArgReduce {
  readonly axis: number;
  readonly keepdims: boolean;
}
interface Axis {
  readonly axis: number;
}
/**
 * The movement of a window over the spatial axes of an operand (1 to 3 for convolutions): one number per axis, but
 * `pads` has all begins, then all ends. Pads are never negative; padding adds nothing to a sum or maximum.
 */
export interface KernelWindow {
  readonly strides: readonly number[];
  readonly pads: readonly number[];
  readonly dilations: readonly number[];
}
interface Convolution extends KernelWindow {
  /** Number of groups that the channels are split into; each is convolved with its own kernels. */
  readonly group: number;
}
interface Attending {
  readonly scale: number;
  readonly isCausal: boolean;
  readonly softcap: number;
}
/** The window of a pool. */
export interface PoolingWindow extends KernelWindow {
  readonly kernelShape: readonly number[];
  /** Whether the last window may go beyond the padding, if it begins before the end of x. */
  readonly ceilMode: boolean;
}
export type LossReduction = "mean" | "sum" | "none";
export type ScatterReduction = "none" | "add" | "mul" | "max" | "min";

/**
 * The op set: every operator of the graph with the attributes of its nodes. Names and semantics are ONNX opset 23; what
 * ONNX passes as constant inputs (axes, shapes, starts, pads, k, repeats, bounds) are attributes here. Indices are i32
 * where ONNX has i64. The operators after the separator are in the domain `mp`.
 *
 * Every rule table of the project is total over `Op`: a new op here does not compile until each table has a row for it.
 */
export interface OpAttributes {
  // elementwise, one input
  Abs: None;
  Neg: None;
  Sign: None;
  Floor: None;
  Ceil: None;
  /** Rounds half to even. */
  Round: None;
  Reciprocal: None;
  Exp: None;
  Log: None;
  Sqrt: None;
  Erf: None;
  Tanh: None;
  Sigmoid: None;
  Relu: None;
  Softplus: None;
  Sin: None;
  Cos: None;
  LeakyRelu: { readonly alpha: number };
  Elu: { readonly alpha: number };
  Gelu: { readonly approximate: "none" | "tanh" };
  Clip: { readonly min?: number; readonly max?: number };
  Not: None;
  IsNaN: None;
  IsInf: None;
  Identity: None;
  /** Floats round to nearest even without saturation; floats to integers truncate toward zero. */
  Cast: { readonly to: DType };

  // elementwise, two inputs, broadcasting
  Add: None;
  Sub: None;
  Mul: None;
  Div: None;
  Pow: None;
  /** `fmod` false, for integers: the sign is the divisor's (Python's %). `fmod` true, for floats: the dividend's. */
  Mod: { readonly fmod: boolean };
  Min: None;
  Max: None;
  Equal: None;
  Greater: None;
  GreaterOrEqual: None;
  Less: None;
  LessOrEqual: None;
  And: None;
  Or: None;
  Xor: None;
  /** Inputs: condition (bool), x, y; all three broadcast. */
  Where: None;

  // matrices
  MatMul: None;
  /** Y = alpha · A' · B' + beta · C; A and B are of rank 2, and C (optional) broadcasts to the result. */
  Gemm: { readonly transA: boolean; readonly transB: boolean; readonly alpha: number; readonly beta: number };

  /**
   * Sums of products of one or more operands. `equation` names the axes of operands and result in ONNX's grammar; see
   * einsum-equation.ts. `...` stands for axes that broadcast, the same number in each operand; a letter has one size.
   * An engine may multiply the operands in any order, and may first sum over a letter that only one operand has.
   */
  Einsum: { readonly equation: string };

  // attention
  /**
   * Softmax(scale · Q · Kᵀ + mask) · V over the last two axes. Inputs: query [batch, heads, time, size], key [batch,
   * keyHeads, keys, size], value [batch, keyHeads, keys, valueSize], optional mask of 2 to 4 axes that broadcasts to
   * [batch, heads, time, keys], only the last axis in full size. A bool mask is true where a query attends; a mask in
   * the queries' dtype or in f32 is added. Output: [batch, heads, time, valueSize]. `keyHeads` divides `heads`;
   * adjacent heads share a key head. `isCausal`: no query attends to a key at a later position, both counted from 0.
   * `softcap` above 0: scores s become softcap · tanh(s / softcap) before the mask. Everything is computed in f32 and
   * rounded once. A query that attends to nothing gives 0 and has gradients of 0 (as in ONNX 1.23 and PyTorch).
   */
  Attention: Attending;

  // convolutions
  /** Inputs: x [N, C, d…], w [M, C / group, k…], bias [M] (optional). Output: [N, M, o…]. */
  Conv: Convolution;
  /**
   * The gradient of Conv with respect to x. Inputs: x [N, C, d…], w [C, M / group, k…], bias [M] (optional). Output:
   * [N, M, o…], o = (d - 1) · stride + (k - 1) · dilation + 1 + outputPadding - pads. `outputPadding` has one number
   * per axis, 0 … stride - 1: rows added at the end.
   */
  ConvTranspose: Convolution & { readonly outputPadding: readonly number[] };

  // reductions
  ReduceSum: Reduce;
  ReduceMean: Reduce;
  ReduceMax: Reduce;
  ReduceMin: Reduce;
  ReduceProd: Reduce;
  ReduceL1: Reduce;
  ReduceL2: Reduce;
  ReduceLogSum: Reduce;
  ReduceLogSumExp: Reduce;
  ReduceSumSquare: Reduce;
  /** Indices are i32; the first of several equal elements wins. */
  ArgMax: ArgReduce;
  ArgMin: ArgReduce;
  /** Outputs: values, indices (i32). Always sorted; equal elements keep the order of their indices. */
  TopK: { readonly axis: number; readonly k: number; readonly largest: boolean };
  CumSum: { readonly axis: number; readonly exclusive: boolean; readonly reverse: boolean };

  // pooling
  /** x [N, C, d…]. Padding is ignored; NaN in a window propagates. */
  MaxPool: PoolingWindow;
  /** x [N, C, d…]. `countIncludePad`: the divisor counts the padding of `pads`, not what `ceilMode` adds. */
  AveragePool: PoolingWindow & { readonly countIncludePad: boolean };

  // normalization and losses
  Softmax: Axis;
  LogSoftmax: Axis;
  /**
   * Inputs: scores [N, C, d…], labels i32 [N, d…], weights [C] (optional). Outputs: loss, log-probabilities.
   * `mean` divides by the sum of the weights of labels that are not ignored, as in ONNX.
   */
  SoftmaxCrossEntropyLoss: { readonly reduction: LossReduction; readonly ignoreIndex?: number };
  /** Inputs: log-probabilities [N, C, d…], labels i32 [N, d…], weights [C] (optional). */
  NegativeLogLikelihoodLoss: { readonly reduction: LossReduction; readonly ignoreIndex?: number };
  /**
   * Inputs: x, scale, bias (optional); normalizes over `axis` … last. Outputs: y in x's dtype, mean and 1/std in f32
   * with the normalized axes kept as 1.
   */
  LayerNormalization: { readonly axis: number; readonly epsilon: number };
  /** Inputs: x, scale. */
  RMSNormalization: { readonly axis: number; readonly epsilon: number };
  /**
   * As in ONNX in training mode with momentum 0. Inputs: x [N, C, d…], scale [C], bias [C]; scale and bias are in f32
   * or in x's dtype. Outputs: y in x's dtype, mean and biased variance of each channel in f32, [C].
   */
  BatchNormalization: { readonly epsilon: number };

  // movement
  Reshape: { readonly shape: Shape };
  Transpose: { readonly perm: readonly number[] };
  /** The four lists have one length; starts and ends are normalized and clamped as in ONNX, steps are never 0. */
  Slice: {
    readonly starts: readonly number[];
    readonly ends: readonly number[];
    readonly axes: readonly number[];
    readonly steps: readonly number[];
  };
  Concat: Axis;
  Split: { readonly axis: number; readonly split: readonly number[] };
  /** Indices are i32; negative indices count from the end. */
  Gather: Axis;
  GatherElements: Axis;
  GatherND: { readonly batchDims: number };
  ScatterElements: { readonly axis: number; readonly reduction: ScatterReduction };
  ScatterND: { readonly reduction: ScatterReduction };
  Expand: { readonly shape: Shape };
  Squeeze: { readonly axes: readonly number[] };
  Unsqueeze: { readonly axes: readonly number[] };
  /** `pads`: all begins, then all ends, as in ONNX; never negative. `value` is used by mode constant. */
  Pad: {
    readonly pads: readonly number[];
    readonly mode: "constant" | "reflect" | "edge";
    readonly value: number;
  };
  Tile: { readonly repeats: readonly number[] };
  /** 1 at the index and 0 elsewhere; for an index outside of -depth … depth-1, all zeros. */
  OneHot: { readonly axis: number; readonly depth: number; readonly dtype: ComputeDType | "i32" };

  // loops
  /**
   * Runs `body` `length` times, one after the other. Inputs: the first values of the `carries`; then `sequences`
   * tensors [length, …]; then invariants, which are the same in every run. The body has the same inputs in the same
   * order, but one element of each sequence. Its outputs are the next carries, of the types of the first, then elements
   * to stack. Outputs: the last carries, then one tensor [length, …] for each stacked output. `reverse` runs from the
   * last element to the first; stacked elements stay at the position of their run. Only the gradient reads the last
   * `saved` stacked outputs, so no gradient flows through them.
   */
  Scan: {
    readonly body: Graph;
    readonly carries: number;
    readonly sequences: number;
    readonly length: number;
    readonly reverse: boolean;
    readonly saved: number;
  };

  // sources
  /** `literal` is the number before rounding, so that a casting policy rounds it only once. */
  Constant: { readonly value: HostTensor; readonly literal?: number };
  Range: { readonly start: number; readonly limit: number; readonly delta: number; readonly dtype: DType };

  // ---- domain "mp"
  /**
   * The gradients of Attention; the probabilities are computed again. Inputs: dy, then the inputs of Attention with
   * these attributes. Outputs: dquery, dkey and dvalue.
   */
  AttentionGradient: Attending;
  /**
   * Counter-based randomness: Squares32 (arXiv 2004.06278) of `key` at 2^32 · drawn + element index, row-major.
   * Input: drawn, an i32 scalar. Output: i32 with these 32 bits.
   */
  RandomBits: { readonly key: bigint; readonly shape: Shape };
  /**
   * Inputs: dy, x, and y = MaxPool(x) with these attributes. Output: dx, where each window adds its dy at its largest
   * element, or at the first of equal ones in row-major order. For a window with NaN the element is unspecified.
   */
  MaxPoolGradient: PoolingWindow;
  /**
   * Inputs: dy, x, scale, mean and variance; BatchNormalization returned the last two. Outputs: dx in x's dtype,
   * dscale and dbias in f32.
   */
  BatchNormalizationGradient: { readonly epsilon: number };
  /**
   * The gradient of Conv with respect to w. Inputs: x [N, C, d…] and dy [N, M, o…], in the result shape of Conv with
   * these attributes. Output: [M, C / group, ...kernelShape].
   */
  ConvWeightGradient: Convolution & { readonly kernelShape: readonly number[] };
  /** Inputs: x, then values that must be computed before x is read. Output: x. Never folded, moved or merged. */
  Barrier: None;
}

export type Op = keyof OpAttributes;

// ---- graphs: they hold nodes, whose attributes may hold graphs

export interface ValueType {
  readonly dtype: DType;
  readonly shape: Shape;
}

/** One SSA value. Its identity is the object; `id` is unique in its graph and only for printing. */
export interface Value extends ValueType {
  readonly id: number;
}

export type Phase = "forward" | "loss" | "backward" | "update";

/** The origin of a node. Policies select nodes by it; errors, profiles and reports show it. */
export interface Origin {
  /** Path of name scopes, `encoder/layer0/attention`; empty at the top. */
  readonly scope: string;
  /** The scope as reports show it, if that differs: `0 dense` instead of `0` for a part of a `sequential`. */
  readonly label?: string;
  readonly phase: Phase;
  /** The user's line that made the node, `file:line:column`. */
  readonly line?: string;
  /** Number of the `remat` segment, whose values are recomputed in the backward pass instead of being kept. */
  readonly segment?: number;
  /** The reason to keep this node's dtypes: an inner policy or recipe chose them, or the node draws random numbers. */
  readonly castSettled?: "policy" | "recipe" | "draw";
  /** No gradient flows through the node; set by `stopGradient`. */
  readonly stopsGradient?: true;
  /** The node belongs to a mean whose terms have unequal weights, as where some labels are ignored. */
  readonly isUneven?: true;
  /** The name of the forward node whose gradient this backward node computes. */
  readonly forward?: string;
  /** The operand of a quantized product whose statistics are this Barrier's second operand. */
  readonly measures?: string;
  /** The rule of a `customGradient`; only on the Barrier that carries it. */
  readonly custom?: CustomRule;
}

/**
 * A gradient that the user wrote. A Barrier after the function carries the gradient, and reads, in this order: the
 * function's `results`, the `inputs` that get a cotangent, the values that the function closes over, and the values
 * that the rule reads; `results`, `inputs` and `closedOver` count the first three. The body takes the values that the
 * rule reads and the cotangents of the results; it returns the cotangents of the inputs. No node reads the Barrier, so
 * the first removal of dead code drops it, and no engine sees it.
 */
export interface CustomRule {
  readonly body: Graph;
  readonly results: number;
  readonly inputs: number;
  readonly closedOver: number;
}

export interface GraphNode<K extends Op = Op> {
  readonly op: K;
  /** Unique in its graph and the same in every run: scope, op and a counter. */
  readonly name: string;
  readonly inputs: readonly Value[];
  readonly outputs: readonly Value[];
  readonly attributes: OpAttributes[K];
  readonly origin: Origin;
}

/** A node as a union over its op, for code that switches on the op. */
export type AnyNode = { readonly [K in Op]: GraphNode<K> }[Op];

/**
 * Inputs with role `parameter` are weak in casting: they take the dtype of the other operand. Inputs with role
 * `batch` hold samples along their first axis, which an engine may divide among devices.
 */
export type InputRole = "parameter" | "state" | "batch" | "capture";

export interface GraphInput {
  readonly name: string;
  readonly role: InputRole;
  readonly value: Value;
}

export interface GraphOutput {
  readonly name: string;
  readonly value: Value;
}

export interface Graph {
  readonly inputs: readonly GraphInput[];
  readonly nodes: readonly AnyNode[];
  readonly outputs: readonly GraphOutput[];
}
