/** `@mp/core/ops`: the operators, functions of traced tensors. */

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
export { literal } from "../trace/ops/source.js";

// Products
export { attention, type AttentionOptions } from "../trace/ops/attention.js";
export { einsum, gemm, matMul, type GemmOptions } from "../trace/ops/matrix.js";

// Convolution and pooling
export {
  conv,
  convTranspose,
  type ConvOptions,
  type ConvTransposeOptions,
} from "../trace/ops/convolution.js";
export {
  averagePool,
  globalAveragePool,
  globalMaxPool,
  maxPool,
  type AveragePoolOptions,
  type GlobalPoolOptions,
  type PoolKernel,
  type PoolOptions,
} from "../trace/ops/pooling.js";
export type { WindowOptions } from "../trace/ops/window-options.js";

// Reductions and searches
export {
  argMax,
  argMin,
  cumSum,
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
  type ArgOptions,
  type ReduceOptions,
} from "../trace/ops/reduce.js";

// Shapes, indices and movement
export {
  concat,
  expand,
  pad,
  reshape,
  slice,
  split,
  squeeze,
  stack,
  tile,
  transpose,
  unsqueeze,
  type PadOptions,
  type SliceRange,
} from "../trace/ops/movement.js";
export { constant, range } from "../trace/ops/source.js";
export {
  gather,
  gatherElements,
  gatherND,
  oneHot,
  scatterElements,
  scatterND,
  type ScatterOptions,
} from "../trace/ops/indexing.js";

// Normalization and losses
export {
  layerNormalization,
  logSoftmax,
  rmsNormalization,
  softmax,
  type NormalizationOptions,
} from "../trace/ops/normalization.js";
export {
  negativeLogLikelihoodLoss,
  softmaxCrossEntropyLoss,
  type LikelihoodOptions,
} from "../trace/ops/loss.js";
export {
  batchNormalization,
  normalizeByStatistics,
  type BatchNormalizationOptions,
  type BatchNormalized,
  type ChannelStatistics,
} from "../trace/ops/batch-normalization.js";
export {
  groupNormalization,
  instanceNormalization,
  type GroupNormalizationOptions,
} from "../trace/ops/group-normalization.js";

// Images
export {
  depthToSpace,
  lrn,
  spaceToDepth,
  type DepthMode,
  type DepthOptions,
  type LrnOptions,
} from "../trace/ops/image.js";
export {
  resize,
  type CoordinateMode,
  type NearestMode,
  type ResizeMode,
  type ResizeOptions,
} from "../trace/ops/resize.js";

// Randomness and precision
export { randomBernoulli, randomBits, randomUniform } from "../trace/random/random.js";
export { randomNormal } from "../trace/random/random-normal.js";
export { stochasticallyRounded } from "../trace/random/stochastic-rounding.js";
export { allFinite } from "../trace/ops/finite.js";

// For operators of your own
export { asTensor, type Operand } from "../trace/emit.js";

// Loops
export { scan, type ScanOptions } from "../trace/ops/loop.js";
