/**
 * Differentiable functions for every op. The table is total: a new op does not compile until it says how its gradient
 * is tested.
 */
import type { Tensor } from "@mp/core";
import type { Op } from "@mp/core/graph";
import {
  abs,
  add,
  averagePool,
  batchNormalization,
  cast,
  clip,
  concat,
  cos,
  cumSum,
  div,
  elu,
  erf,
  exp,
  expand,
  gather,
  gatherElements,
  gatherND,
  gelu,
  gemm,
  greater,
  identity,
  layerNormalization,
  leakyRelu,
  log,
  logSoftmax,
  matMul,
  maximum,
  maxPool,
  minimum,
  mod,
  mul,
  neg,
  negativeLogLikelihoodLoss,
  pad,
  pow,
  reciprocal,
  reduceL1,
  reduceL2,
  reduceLogSum,
  reduceLogSumExp,
  reduceMax,
  reduceMean,
  reduceMin,
  reduceProd,
  reduceSum,
  reduceSumSquare,
  relu,
  reshape,
  rmsNormalization,
  scatterElements,
  scatterND,
  sigmoid,
  sin,
  slice,
  softmax,
  softmaxCrossEntropyLoss,
  softplus,
  split,
  sqrt,
  squeeze,
  sub,
  tanh,
  tile,
  topK,
  transpose,
  unsqueeze,
  where,
} from "@mp/core/ops";
// biome-ignore format: one list
import { convolutionGradientSamples } from "./convolution-gradient-samples.js";
import {
  type GradientRows,
  type GradientSample,
  indices,
  numbers,
  type Point,
  positive,
  sample,
  spread,
} from "./gradient-sample.js";

type Unary = (x: Tensor) => Tensor;

/** `fn` of its first operand, ignoring other operands. */
const of1 =
  (fn: Unary): GradientSample["fn"] =>
  (x) =>
    fn(x as Tensor);
const of2 =
  (fn: (a: Tensor, b: Tensor) => Tensor): GradientSample["fn"] =>
  (a, b) =>
    fn(a as Tensor, b as Tensor);
const of3 =
  (fn: (a: Tensor, b: Tensor, c: Tensor) => Tensor): GradientSample["fn"] =>
  (a, b, c) =>
    fn(a as Tensor, b as Tensor, c as Tensor);

const unary = (fn: Unary, point: (shape: readonly number[]) => Point = spread): readonly GradientSample[] => [
  sample("matrix", of1(fn), point([3, 4])),
  sample("scalar", of1(fn), point([])),
];

const binary = (
  fn: (a: Tensor, b: Tensor) => Tensor,
  point: (shape: readonly number[], turn?: number) => Point = spread,
): readonly GradientSample[] => [
  sample("matrix", of2(fn), point([3, 4]), point([3, 4], 1)),
  sample("broadcasting-rows", of2(fn), point([3, 4]), point([4], 1)),
  sample("broadcasting-both", of2(fn), point([3, 1]), point([2, 1, 4], 1)),
  sample("broadcasting-a-scalar", of2(fn), point([]), point([2, 3], 1)),
];

const reduction = (
  fn: (x: Tensor, options?: { readonly axes?: readonly number[]; readonly keepdims?: boolean }) => Tensor,
  point: (shape: readonly number[]) => Point = spread,
): readonly GradientSample[] => [
  sample(
    "all-axes",
    of1((x) => fn(x)),
    point([3, 4]),
  ),
  sample(
    "first-axis",
    of1((x) => fn(x, { axes: [0] })),
    point([3, 4]),
  ),
  sample(
    "kept-axes",
    of1((x) => fn(x, { axes: [0, 2], keepdims: true })),
    point([2, 3, 4]),
  ),
];

const normalizedChannels = (x: Tensor, scale: Tensor, bias: Tensor): Tensor =>
  batchNormalization(x, scale, bias).y;

/** Windows that touch, overlap, leave gaps, reach into the padding and beyond it, in one to three dimensions. */
const poolings = [
  { behaviour: "windows-of-two", shape: [2, 2, 4, 6], kernel: 2, options: {} },
  { behaviour: "overlapping", shape: [1, 2, 7, 5], kernel: 3, options: { strides: 2, pads: 1 } },
  { behaviour: "with-gaps", shape: [1, 3, 9], kernel: 2, options: { strides: 4, pads: [1, 0] } },
  {
    behaviour: "with-a-ceiling",
    shape: [1, 1, 6, 8],
    kernel: [3, 2],
    options: { strides: [2, 3], ceilMode: true },
  },
  {
    behaviour: "with-holes",
    shape: [1, 2, 7, 8],
    kernel: [3, 2],
    options: { strides: 1, pads: 1, dilations: [2, 3] },
  },
  { behaviour: "volumes", shape: [1, 2, 4, 3, 5], kernel: 2, options: { strides: [2, 1, 2] } },
] as const;

const STEPS = { none: "constant between its steps" };
const PREDICATE = { none: "gives no float" };
const SOURCE = { none: "has no floating operand" };

const movement: GradientRows<
  | "Reshape"
  | "Transpose"
  | "Slice"
  | "Concat"
  | "Split"
  | "Gather"
  | "GatherElements"
  | "GatherND"
  | "ScatterElements"
  | "ScatterND"
  | "Expand"
  | "Squeeze"
  | "Unsqueeze"
  | "Pad"
  | "Tile"
  | "OneHot"
> = {
  Reshape: [
    sample(
      "matrix",
      of1((x) => reshape(x, [4, 3])),
      spread([3, 4]),
    ),
  ],
  Transpose: [
    sample(
      "matrix",
      of1((x) => transpose(x)),
      spread([3, 4]),
    ),
    sample(
      "permuted",
      of1((x) => transpose(x, [2, 0, 1])),
      spread([2, 3, 4]),
    ),
  ],
  Slice: [
    sample(
      "part",
      of1((x) => slice(x, [{ axis: 1, start: 1, end: 3 }])),
      spread([3, 4]),
    ),
    sample(
      "every-second",
      of1((x) => slice(x, [{ axis: 0, step: 2 }])),
      spread([5, 2]),
    ),
    sample(
      "backwards",
      of1((x) => slice(x, [{ axis: 0, step: -2 }])),
      spread([5, 2]),
    ),
  ],
  Concat: [
    sample(
      "two",
      of2((a, b) => concat([a, b], 1)),
      spread([2, 3]),
      spread([2, 1], 1),
    ),
    sample(
      "one-value-twice",
      of1((x) => concat([x, x], 0)),
      spread([2, 3]),
    ),
  ],
  Split: [
    sample(
      "all-parts",
      of1((x) => concat([...split(x, [1, 3], 1)].reverse(), 1)),
      spread([2, 4]),
    ),
    sample(
      "one-part-unused",
      of1((x) => split(x, 2, 1)[1] as Tensor),
      spread([2, 4]),
    ),
  ],
  Gather: [
    sample(
      "rows",
      of1((x) => gather(x, indices([2, 0]))),
      spread([3, 4]),
    ),
    sample(
      "repeated-rows-add-up",
      of1((x) => gather(x, indices([1, 1, 2, 1], [2, 2]))),
      spread([3, 4]),
    ),
    sample(
      "columns",
      of1((x) => gather(x, indices([3, 0, -1]), 1)),
      spread([3, 4]),
    ),
    sample(
      "one-row",
      of1((x) => gather(x, reshape(indices([1]), []))),
      spread([3, 4]),
    ),
  ],
  GatherElements: [
    sample(
      "repeated",
      of1((x) => gatherElements(x, indices([0, 2, 2, 1], [2, 2]), 1)),
      spread([2, 3]),
    ),
    sample(
      "repeated-along-the-middle",
      of1((x) => gatherElements(x, indices([0, 2, -1, 1, 1, 1, 0, 0], [2, 1, 2, 2]), 1)),
      spread([2, 3, 2, 2]),
    ),
  ],
  GatherND: [
    sample(
      "repeated",
      of1((x) => gatherND(x, indices([0, 1, 2, 1, 0, 1], [3, 2]))),
      spread([3, 4]),
    ),
    sample(
      "one-row",
      of1((x) => gatherND(x, indices([1]))),
      spread([3, 4]),
    ),
    sample(
      "one-element",
      of1((x) => gatherND(x, indices([2, -1]))),
      spread([3, 4]),
    ),
  ],
  ScatterElements: [
    sample(
      "replacing",
      of2((x, u) => scatterElements(x, indices([1, 0], [1, 2]), u)),
      spread([3, 2]),
      spread([1, 2], 1),
    ),
    sample(
      "adding",
      of2((x, u) => scatterElements(x, indices([1, 1, 2, 0], [2, 2]), u, { reduction: "add" })),
      spread([3, 2]),
      spread([2, 2], 1),
    ),
  ],
  ScatterND: [
    sample(
      "replacing",
      of2((x, u) => scatterND(x, indices([2, 0], [2, 1]), u)),
      spread([3, 2]),
      spread([2, 2], 1),
    ),
    sample(
      "adding",
      of2((x, u) => scatterND(x, indices([2, 2], [2, 1]), u, { reduction: "add" })),
      spread([3, 2]),
      spread([2, 2], 1),
    ),
    sample(
      "replacing-one-row",
      of2((x, u) => scatterND(x, indices([-1]), u)),
      spread([3, 2]),
      spread([2], 1),
    ),
    sample(
      "adding-to-one-element",
      of2((x, u) => scatterND(x, indices([1, 0]), u, { reduction: "add" })),
      spread([3, 2]),
      spread([], 1),
    ),
  ],
  Expand: [
    sample(
      "rows",
      of1((x) => expand(x, [3, 4])),
      spread([4]),
    ),
    sample(
      "a-scalar",
      of1((x) => expand(x, [2, 3])),
      spread([]),
    ),
  ],
  Squeeze: [
    sample(
      "matrix",
      of1((x) => squeeze(x, [0])),
      spread([1, 4]),
    ),
  ],
  Unsqueeze: [
    sample(
      "vector",
      of1((x) => unsqueeze(x, [0, 2])),
      spread([4]),
    ),
  ],
  Pad: [
    sample(
      "constant",
      of1((x) =>
        pad(x, [
          [1, 0],
          [0, 2],
        ]),
      ),
      spread([2, 3]),
    ),
    sample(
      "reflect",
      of1((x) => pad(x, [[2, 1]], { mode: "reflect" })),
      spread([4]),
    ),
    sample(
      "edge",
      of1((x) => pad(x, [[2, 1]], { mode: "edge" })),
      spread([3]),
    ),
  ],
  Tile: [
    sample(
      "matrix",
      of1((x) => tile(x, [2, 3])),
      spread([2, 2]),
    ),
  ],
  OneHot: SOURCE,
};

export const gradientSamples: GradientRows<Op> = {
  Abs: unary(abs),
  Neg: unary(neg),
  Sign: STEPS,
  Floor: STEPS,
  Ceil: STEPS,
  Round: STEPS,
  Reciprocal: unary(reciprocal, positive),
  Exp: unary(exp),
  Log: unary(log, positive),
  Sqrt: unary(sqrt, positive),
  Erf: unary(erf),
  Tanh: unary(tanh),
  Sigmoid: unary(sigmoid),
  Relu: [
    ...unary(relu),
    sample("kink", of1(relu), numbers(-1, -0, 0, 2 ** -10, 2)),
    sample(
      "an-infinite-gradient-stays-behind-the-mask",
      of1((x) => sqrt(relu(x))),
      numbers(-1, 0.5, 2, -3),
    ),
  ],
  Softplus: unary(softplus),
  Sin: unary(sin),
  Cos: unary(cos),
  LeakyRelu: unary((x) => leakyRelu(x, 0.2)),
  Elu: unary((x) => elu(x, 0.7)),
  Gelu: [
    ...unary((x) => gelu(x)),
    sample(
      "tanh",
      of1((x) => gelu(x, { approximate: "tanh" })),
      spread([3, 4]),
    ),
  ],
  Clip: [
    ...unary((x) => clip(x, { min: -0.5, max: 0.6 })),
    sample(
      "limits",
      of1((x) => clip(x, { min: -1, max: 1 })),
      numbers(-2, -1, 0, 1, 2),
    ),
  ],
  Not: PREDICATE,
  IsNaN: PREDICATE,
  IsInf: PREDICATE,
  Identity: unary(identity),
  Cast: [
    sample(
      "through-f16",
      of1((x) => cast(cast(x, "f16"), "f32")),
      spread([3, 4]),
    ),
    sample(
      "through-bf16",
      of1((x) => cast(cast(x, "bf16"), "f32")),
      spread([3, 4]),
    ),
  ],

  Add: [
    ...binary(add),
    sample(
      "one-value-twice",
      of1((x) => add(x, x)),
      spread([3, 4]),
    ),
  ],
  Sub: binary(sub),
  Mul: [
    ...binary(mul),
    sample(
      "one-value-twice",
      of1((x) => mul(x, x)),
      spread([3, 4]),
    ),
  ],
  Div: binary(div, positive),
  Pow: [
    ...binary(pow, positive),
    sample(
      "squares-of-negatives",
      of1((x) => pow(x, 2)),
      numbers(-2, -1, 0, 1.5),
    ),
  ],
  Mod: [
    sample(
      "by-dividend",
      of2((a, b) => mod(a, b, { fmod: true })),
      positive([3, 4]),
      numbers(2.5, 2.5, 2.5, 2.5),
    ),
  ],
  Min: binary(minimum),
  Max: binary(maximum),
  Equal: PREDICATE,
  Greater: PREDICATE,
  GreaterOrEqual: PREDICATE,
  Less: PREDICATE,
  LessOrEqual: PREDICATE,
  And: PREDICATE,
  Or: PREDICATE,
  Xor: PREDICATE,
  Where: [
    sample(
      "both-sides",
      of2((a, b) => where(greater(a, b), a, mul(b, 2))),
      spread([3, 4]),
      spread([4], 1),
    ),
    sample(
      "an-infinite-gradient-stays-behind-the-mask",
      of1((x) => sqrt(where(greater(x, 0), x, 0))),
      numbers(-1, 0.5, 2, -3),
    ),
  ],

  MatMul: [
    sample("matrices", of2(matMul), spread([3, 4]), spread([4, 2], 1)),
    sample("batches", of2(matMul), spread([2, 3, 4]), spread([4, 2], 1)),
    sample("broadcast-batches", of2(matMul), spread([2, 1, 3, 4]), spread([3, 4, 2], 1)),
    sample("vectors", of2(matMul), spread([4]), spread([4], 1)),
    sample("matrix-by-vector", of2(matMul), spread([3, 4]), spread([4], 1)),
  ],
  Gemm: [
    sample(
      "with-bias",
      of3((a, b, c) => gemm(a, b, c)),
      spread([3, 4]),
      spread([4, 2], 1),
      spread([2], 2),
    ),
    sample(
      "transposed-and-scaled",
      of3((a, b, c) => gemm(a, b, c, { transA: true, transB: true, alpha: 0.5, beta: 2 })),
      spread([4, 3]),
      spread([2, 4], 1),
      spread([3, 1], 2),
    ),
  ],

  ...convolutionGradientSamples,

  ReduceSum: reduction(reduceSum),
  ReduceMean: reduction(reduceMean),
  ReduceMax: [
    ...reduction(reduceMax),
    sample(
      "ties",
      of1((x) => reduceMax(x, { axes: [1] })),
      { shape: [2, 3], data: [1, 2, 2, 3, 3, 3] },
    ),
  ],
  ReduceMin: reduction(reduceMin),
  ReduceProd: [
    ...reduction(reduceProd, positive),
    sample(
      "a-zero-factor",
      of1((x) => reduceProd(x)),
      numbers(2, 0, 3),
    ),
  ],
  ReduceL1: reduction(reduceL1),
  ReduceL2: reduction(reduceL2),
  ReduceLogSum: reduction(reduceLogSum, positive),
  ReduceLogSumExp: reduction(reduceLogSumExp),
  ReduceSumSquare: reduction(reduceSumSquare),
  ArgMax: PREDICATE,
  ArgMin: PREDICATE,
  TopK: [
    sample(
      "largest",
      of1((x) => topK(x, 2).values),
      spread([2, 5]),
    ),
    sample(
      "smallest",
      of1((x) => topK(x, 2, { largest: false }).values),
      spread([2, 5]),
    ),
    sample(
      "of-images",
      of1((x) => topK(x, 2, { axis: 1 }).values),
      spread([2, 4, 2, 3]),
    ),
    sample(
      "a-single-one",
      of1((x) => topK(x, 1, { axis: 0 }).values),
      spread([4, 1]),
    ),
  ],
  CumSum: [
    sample(
      "plain",
      of1((x) => cumSum(x, 1)),
      spread([2, 5]),
    ),
    sample(
      "exclusive-reverse",
      of1((x) => cumSum(x, 0, { exclusive: true, reverse: true })),
      spread([4, 2]),
    ),
  ],

  Softmax: [
    sample(
      "rows",
      of1((x) => softmax(x)),
      spread([3, 5]),
    ),
    sample(
      "columns",
      of1((x) => softmax(x, 0)),
      spread([3, 5]),
    ),
  ],
  LogSoftmax: [
    sample(
      "rows",
      of1((x) => logSoftmax(x)),
      spread([3, 5]),
    ),
  ],
  SoftmaxCrossEntropyLoss: [
    sample(
      "mean",
      of1((x) => softmaxCrossEntropyLoss(x, indices([1, 4, 0]))),
      spread([3, 5]),
    ),
    sample(
      "ignored-labels",
      of1((x) => softmaxCrossEntropyLoss(x, indices([1, -100, 0]), { ignoreIndex: -100 })),
      spread([3, 5]),
    ),
    sample(
      "unreduced",
      of1((x) => softmaxCrossEntropyLoss(x, indices([1, 0, 2, 2], [2, 2]), { reduction: "none" })),
      spread([2, 3, 2]),
    ),
    sample(
      "ignored-labels-of-images",
      of1((x) =>
        softmaxCrossEntropyLoss(x, indices([1, -1, 2, 2, 0, -1, 1, 1], [2, 2, 2]), { ignoreIndex: -1 }),
      ),
      spread([2, 3, 2, 2]),
    ),
  ],
  NegativeLogLikelihoodLoss: [
    sample(
      "mean",
      of1((x) => negativeLogLikelihoodLoss(x, indices([1, 4, 0]))),
      spread([3, 5]),
    ),
    sample(
      "sum",
      of1((x) => negativeLogLikelihoodLoss(x, indices([1, 4, 0]), { reduction: "sum" })),
      spread([3, 5]),
    ),
    sample(
      "of-images",
      of1((x) => negativeLogLikelihoodLoss(x, indices([1, 0, 2, 2, 0, 0, 1, 1], [2, 2, 2]))),
      spread([2, 3, 2, 2]),
    ),
    sample(
      "ignored-labels-of-images",
      of1((x) =>
        negativeLogLikelihoodLoss(x, indices([1, -1, 2, 2, 0, -1, 1, 1], [2, 2, 2]), { ignoreIndex: -1 }),
      ),
      spread([2, 3, 2, 2]),
    ),
  ],
  LayerNormalization: [
    sample(
      "scale-and-bias",
      of3((x, s, b) => layerNormalization(x, s, b)),
      spread([3, 5]),
      positive([5], 1),
      spread([5], 2),
    ),
    sample(
      "two-axes",
      of2((x, s) => layerNormalization(x, s, undefined, { axis: 1 })),
      spread([2, 2, 3]),
      positive([2, 3], 1),
    ),
  ],
  RMSNormalization: [
    sample(
      "scale",
      of2((x, s) => rmsNormalization(x, s)),
      spread([3, 5]),
      positive([5], 1),
    ),
  ],

  BatchNormalization: [
    sample("channels", of3(normalizedChannels), spread([4, 3, 2, 2]), positive([3], 1), spread([3], 2)),
    sample("rows", of3(normalizedChannels), spread([6, 4]), positive([4], 1), spread([4], 2)),
    sample("a-batch-of-one", of3(normalizedChannels), spread([1, 2, 5]), positive([2], 1), spread([2], 2)),
    sample(
      "its-statistics-too",
      of3((x, s, b) => {
        const { y, mean, variance } = batchNormalization(x, s, b);
        return add(y, reshape(add(mul(mean, 2), variance), [2, 1]));
      }),
      spread([3, 2, 4]),
      positive([2], 1),
      spread([2], 2),
    ),
  ],

  MaxPool: poolings.map(({ behaviour, shape, kernel, options }) =>
    sample(
      behaviour,
      of1((x) => maxPool(x, kernel, options)),
      spread(shape),
    ),
  ),
  AveragePool: poolings.flatMap(({ behaviour, shape, kernel, options }) =>
    [false, true].map((countIncludePad) =>
      sample(
        countIncludePad ? `${behaviour}-padding-counted` : behaviour,
        of1((x) => averagePool(x, kernel, { ...options, countIncludePad })),
        spread(shape),
      ),
    ),
  ),

  ...movement,

  Constant: SOURCE,
  Range: SOURCE,
  MaxPoolGradient: { none: "is the gradient of MaxPool, and tried there" },
  BatchNormalizationGradient: { none: "is the gradient of BatchNormalization, and tried there" },
  RandomBits: PREDICATE,
  Barrier: { none: "is put in by core, behind checkpoint, whose cases train" },
};
