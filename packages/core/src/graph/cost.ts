import { byteLength } from "../host-tensor.js";
import { elementCount } from "../shape.js";
import type { Op, OpAttributes } from "./attributes.js";
import { contractionFlops } from "./contraction-path.js";
import { contractionOf } from "./einsum-equation.js";
import type { Graph, Phase, ValueType } from "./graph.js";

/**
 * The cost of running a node: arithmetic operations (a multiply-add counts as two, a function such as exp or a
 * comparison as one) and bytes read and written, each operand and result once. It is derived from the op's definition,
 * not from an engine's kernel, so that achieved rates of engines are comparable.
 */
export interface Cost {
  readonly flops: number;
  readonly bytes: number;
}

type FlopsRule<K extends Op> = (
  inputs: readonly ValueType[],
  outputs: readonly ValueType[],
  attributes: OpAttributes[K],
) => number;

const size = (types: readonly ValueType[], index: number): number => {
  const type = types[index];
  return type === undefined ? 0 : elementCount(type.shape, "cost");
};

/** That many operations per element of the first result. */
const perResult =
  (count: number) =>
  (_: readonly ValueType[], outputs: readonly ValueType[]): number =>
    count * size(outputs, 0);

/** That many operations per element of the first operand. */
const perOperand =
  (count: number) =>
  (inputs: readonly ValueType[]): number =>
    count * size(inputs, 0);

const windowSize = (kernelShape: readonly number[]): number =>
  kernelShape.reduce((product, length) => product * length, 1);

const none = (): number => 0;

/** Elements of one kernel of a convolution, over the input channels of its group. */
const taps = (weights: ValueType | undefined): number =>
  weights === undefined ? 0 : elementCount(weights.shape.slice(1), "cost");

/** One operation per update, unless updates only replace. */
const perUpdate = (
  inputs: readonly ValueType[],
  _: readonly ValueType[],
  { reduction }: { readonly reduction: string },
): number => (reduction === "none" ? 0 : size(inputs, 2));

const flopsRules: { readonly [K in Op]: FlopsRule<K> } = {
  Abs: perResult(1),
  Neg: perResult(1),
  Sign: perResult(1),
  Floor: perResult(1),
  Ceil: perResult(1),
  Round: perResult(1),
  Reciprocal: perResult(1),
  Exp: perResult(1),
  Log: perResult(1),
  Sqrt: perResult(1),
  Erf: perResult(1),
  Tanh: perResult(1),
  Sigmoid: perResult(1),
  Relu: perResult(1),
  Softplus: perResult(1),
  Sin: perResult(1),
  Cos: perResult(1),
  LeakyRelu: perResult(2),
  Elu: perResult(2),
  Gelu: perResult(4),
  Clip: perResult(2),
  Not: perResult(1),
  IsNaN: perResult(1),
  IsInf: perResult(1),
  Identity: none,
  Cast: none,
  Add: perResult(1),
  Sub: perResult(1),
  Mul: perResult(1),
  Div: perResult(1),
  Pow: perResult(1),
  Mod: perResult(1),
  Min: perResult(1),
  Max: perResult(1),
  Equal: perResult(1),
  Greater: perResult(1),
  GreaterOrEqual: perResult(1),
  Less: perResult(1),
  LessOrEqual: perResult(1),
  And: perResult(1),
  Or: perResult(1),
  Xor: perResult(1),
  Where: perResult(1),
  MatMul: (inputs, outputs) => 2 * size(outputs, 0) * (inputs[0]?.shape.at(-1) ?? 0),
  Gemm: (inputs, outputs, { transA, alpha, beta }) => {
    const terms = 2 * (inputs[0]?.shape[transA ? 0 : 1] ?? 0);
    const bias = inputs[2] === undefined ? 0 : beta === 1 ? 1 : 2;
    return size(outputs, 0) * (terms + (alpha === 1 ? 0 : 1) + bias);
  },
  Einsum: (inputs, _, { equation }) =>
    contractionFlops(
      contractionOf(
        equation,
        inputs.map(({ shape }) => shape),
      ),
    ),
  Conv: (inputs, outputs) => size(outputs, 0) * (2 * taps(inputs[1]) + (inputs[2] === undefined ? 0 : 1)),
  ConvTranspose: (inputs, outputs) =>
    2 * size(inputs, 0) * taps(inputs[1]) + (inputs[2] === undefined ? 0 : size(outputs, 0)),
  ReduceSum: perOperand(1),
  ReduceMean: (inputs, outputs) => size(inputs, 0) + size(outputs, 0),
  ReduceMax: perOperand(1),
  ReduceMin: perOperand(1),
  ReduceProd: perOperand(1),
  ReduceL1: perOperand(2),
  ReduceL2: (inputs, outputs) => 2 * size(inputs, 0) + size(outputs, 0),
  ReduceLogSum: (inputs, outputs) => size(inputs, 0) + size(outputs, 0),
  ReduceLogSumExp: (inputs, outputs) => 4 * size(inputs, 0) + 2 * size(outputs, 0),
  ReduceSumSquare: perOperand(2),
  ArgMax: perOperand(1),
  ArgMin: perOperand(1),
  /** The number of comparisons of a sort depends on the engine; one per element does not. */
  TopK: perOperand(1),
  CumSum: perOperand(1),
  /** One operation per element of each window; AveragePool also divides. */
  MaxPool: (_, outputs, { kernelShape }) => size(outputs, 0) * windowSize(kernelShape),
  AveragePool: (_, outputs, { kernelShape }) => size(outputs, 0) * (windowSize(kernelShape) + 1),
  /** Maximum, subtraction, exponential, sum, division. */
  Softmax: perOperand(5),
  LogSoftmax: perOperand(5),
  SoftmaxCrossEntropyLoss: (inputs) => 5 * size(inputs, 0) + 2 * size(inputs, 1),
  NegativeLogLikelihoodLoss: (inputs) => 2 * size(inputs, 1),
  /** Mean 1, center 1, variance 2, scaling by 1/std and by the weights 2; a bias 1. */
  LayerNormalization: (inputs) => (inputs[2] === undefined ? 6 : 7) * size(inputs, 0),
  RMSNormalization: perOperand(4),
  /** Mean 1, center 1, variance 2, scale 1, shift 1. */
  BatchNormalization: perOperand(6),
  Reshape: none,
  Transpose: none,
  Slice: none,
  Concat: none,
  Split: none,
  Gather: none,
  GatherElements: none,
  GatherND: none,
  ScatterElements: perUpdate,
  ScatterND: perUpdate,
  Expand: none,
  Squeeze: none,
  Unsqueeze: none,
  Pad: none,
  Tile: none,
  OneHot: none,
  Constant: none,
  Range: none,
  /** Four squarings of 64 bits and the operations between them. */
  RandomBits: perResult(16),
  /** The search, and one addition per window. */
  MaxPoolGradient: (inputs, _, { kernelShape }) => size(inputs, 0) * (windowSize(kernelShape) + 1),
  /** Center 1, the two sums 3, dx 5. */
  BatchNormalizationGradient: perOperand(9),
  ConvWeightGradient: (inputs, outputs) => 2 * size(inputs, 1) * taps(outputs[0]),
  Barrier: none,
};

/** Ops that only change a value's shape or name, or whose result exists before a run. */
const MOVES_NOTHING: ReadonlySet<Op> = new Set<Op>([
  "Identity",
  "Reshape",
  "Squeeze",
  "Unsqueeze",
  "Constant",
  "Barrier",
]);

/** Ops that read only as many elements of their data as they write. */
const READS_PART: ReadonlySet<Op> = new Set<Op>(["Gather", "GatherElements", "GatherND", "Slice"]);

/** Cost of one op on those types. */
export function opCost<K extends Op>(
  op: K,
  inputs: readonly ValueType[],
  outputs: readonly ValueType[],
  attributes: OpAttributes[K],
): Cost {
  const total = (types: readonly ValueType[]): number =>
    types.reduce((sum, type) => sum + byteLength(type), 0);
  const flops = flopsRules[op](inputs, outputs, attributes);
  if (MOVES_NOTHING.has(op)) return { flops, bytes: 0 };
  const written = total(outputs);
  return { flops, bytes: written + (READS_PART.has(op) ? written + total(inputs.slice(1)) : total(inputs)) };
}

export interface GraphCost extends Cost {
  readonly byPhase: Readonly<Partial<Record<Phase, Cost>>>;
  readonly byOp: Readonly<Partial<Record<Op, Cost & { readonly count: number }>>>;
}

/** Sums over a graph's nodes; `flops` divided by a measured time is the achieved rate. */
export function graphCost(graph: Graph): GraphCost {
  let all: Cost = { flops: 0, bytes: 0 };
  const byPhase: Partial<Record<Phase, Cost>> = {};
  const byOp: Partial<Record<Op, Cost & { readonly count: number }>> = {};
  for (const node of graph.nodes) {
    const cost = opCost(node.op, node.inputs, node.outputs, node.attributes);
    const { phase } = node.origin;
    all = plus(all, cost);
    byPhase[phase] = plus(byPhase[phase], cost);
    byOp[node.op] = { ...plus(byOp[node.op], cost), count: (byOp[node.op]?.count ?? 0) + 1 };
  }
  return { ...all, byPhase, byOp };
}

function plus(a: Cost | undefined, b: Cost): Cost {
  return { flops: (a?.flops ?? 0) + b.flops, bytes: (a?.bytes ?? 0) + b.bytes };
}
