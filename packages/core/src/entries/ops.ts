/** `@mp/core/ops`: the operators, functions of traced tensors. */

// Elementwise
export {
  abs,
  add,
  and,
  cast,
  ceil,
  clip,
  cos,
  div,
  elu,
  equal,
  erf,
  exp,
  floor,
  gelu,
  greater,
  greaterOrEqual,
  identity,
  isInf,
  isNan,
  leakyRelu,
  less,
  lessOrEqual,
  literal,
  log,
  maximum,
  minimum,
  mod,
  mul,
  neg,
  not,
  or,
  pow,
  reciprocal,
  relu,
  round,
  sigmoid,
  sign,
  sin,
  softplus,
  sqrt,
  square,
  stopGradient,
  sub,
  tanh,
  where,
  xor,
} from "../trace/ops/elementwise.js";

// Products
export { gemm, matMul, type GemmOptions } from "../trace/ops/matrix.js";

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
  constant,
  expand,
  gather,
  gatherElements,
  gatherND,
  oneHot,
  pad,
  range,
  reshape,
  scatterElements,
  scatterND,
  slice,
  split,
  squeeze,
  stack,
  tile,
  transpose,
  unsqueeze,
  type PadOptions,
  type ScatterOptions,
  type SliceRange,
} from "../trace/ops/movement.js";

// Normalization and losses
export {
  layerNormalization,
  logSoftmax,
  negativeLogLikelihoodLoss,
  rmsNormalization,
  softmax,
  softmaxCrossEntropyLoss,
  type LikelihoodOptions,
  type NormalizationOptions,
} from "../trace/ops/normalization.js";
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
export { randomBernoulli, randomBits, randomUniform } from "../trace/random.js";
export { stochasticallyRounded } from "../precision/master-weights.js";
export { allFinite } from "../trace/finite.js";

// For operators of your own
export { asTensor, type Operand } from "../trace/emit.js";
