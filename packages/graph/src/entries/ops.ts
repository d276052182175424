/** `@mp/graph/ops`: the operators, functions of traced tensors. */

// For operators of your own
export { asTensor, type Operand } from "../trace/emit.js";
// Products
export { type AttentionOptions, attention } from "../trace/ops/attention.js";
export {
  type BatchNormalizationOptions,
  type BatchNormalized,
  batchNormalization,
  type ChannelStatistics,
  normalizeByStatistics,
} from "../trace/ops/batch-normalization.js";
export {
  add,
  and,
  div,
  equal,
  greater,
  greaterOrEqual,
  less,
  lessOrEqual,
  maximum,
  minimum,
  mod,
  mul,
  or,
  pow,
  square,
  sub,
  where,
  xor,
} from "../trace/ops/binary.js";
// Convolution and pooling
export {
  type ConvOptions,
  type ConvTransposeOptions,
  conv,
  convTranspose,
} from "../trace/ops/convolution.js";
export { allFinite } from "../trace/ops/finite.js";
export {
  type GroupNormalizationOptions,
  groupNormalization,
  instanceNormalization,
} from "../trace/ops/group-normalization.js";
// Images
export {
  type DepthMode,
  type DepthOptions,
  depthToSpace,
  type LrnOptions,
  lrn,
  spaceToDepth,
} from "../trace/ops/image.js";
export {
  gather,
  gatherElements,
  gatherND,
  oneHot,
  type ScatterOptions,
  scatterElements,
  scatterND,
} from "../trace/ops/indexing.js";
// Loops
export { type ScanOptions, scan } from "../trace/ops/loop.js";
export {
  type LikelihoodOptions,
  negativeLogLikelihoodLoss,
  softmaxCrossEntropyLoss,
} from "../trace/ops/loss.js";
export { einsum, type GemmOptions, gemm, matMul } from "../trace/ops/matrix.js";
// Shapes, indices and movement
export {
  concat,
  expand,
  type PadOptions,
  pad,
  reshape,
  type SliceRange,
  slice,
  split,
  squeeze,
  stack,
  tile,
  transpose,
  unsqueeze,
} from "../trace/ops/movement.js";
// Normalization and losses
export {
  layerNormalization,
  logSoftmax,
  type NormalizationOptions,
  rmsNormalization,
  softmax,
} from "../trace/ops/normalization.js";
export {
  type AveragePoolOptions,
  averagePool,
  type GlobalPoolOptions,
  globalAveragePool,
  globalMaxPool,
  maxPool,
  type PoolKernel,
  type PoolOptions,
} from "../trace/ops/pooling.js";
// Reductions and searches
export {
  type ArgOptions,
  argMax,
  argMin,
  cumSum,
  type ReduceOptions,
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
  topK,
} from "../trace/ops/reduce.js";
export {
  type CoordinateMode,
  type NearestMode,
  type ResizeMode,
  type ResizeOptions,
  resize,
} from "../trace/ops/resize.js";
export { silu } from "../trace/ops/silu.js";
export { constant, literal, range } from "../trace/ops/source.js";
// Elementwise
export {
  abs,
  cast,
  ceil,
  clip,
  cos,
  elu,
  erf,
  exp,
  floor,
  gelu,
  identity,
  isInf,
  isNan,
  leakyRelu,
  log,
  neg,
  not,
  reciprocal,
  relu,
  round,
  sigmoid,
  sign,
  sin,
  softplus,
  sqrt,
  stopGradient,
  tanh,
} from "../trace/ops/unary.js";
export type { WindowOptions } from "../trace/ops/window-options.js";
// Randomness and precision
export { randomBernoulli, randomBits, randomUniform } from "../trace/random/random.js";
export { randomNormal } from "../trace/random/random-normal.js";
export { stochasticallyRounded } from "../trace/random/stochastic-rounding.js";
