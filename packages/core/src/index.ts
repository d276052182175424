// Values, types and errors
//
// The backend interface
export type {
  Backend,
  BackendStats,
  BackendWarning,
  CompileOptions,
  EngineTensor,
  Executable,
  Handle,
  MemoryReport,
  ProfileRow,
  RunInput,
  State,
  StateBinding,
} from "./backend.js";
export type { AutocastOptions } from "./cast/autocast.js";
export { autocast } from "./cast/autocast.js";
export { autocastGraph } from "./cast/autocast-graph.js";
export type { CastCategory } from "./cast/category.js";
export { emulateHalves } from "./cast/emulate-halves.js";
export type { CastDifference, CastExplanation, CastReport } from "./cast/explain.js";
export { diffCastReports, explainCasts, formatCastReport } from "./cast/explain.js";
export type { CastLint, CastLintRule } from "./cast/lint.js";
export { lintCasts } from "./cast/lint.js";
export type { CastOptions } from "./cast/plan.js";
// Casting, master weights, loss scaling
export type {
  CastingOverride,
  CastingPolicy,
  CastingPolicyChanges,
  OpCategories,
  PolicyCompute,
} from "./cast/policy.js";
export {
  bfloat16Policy,
  castingPolicy,
  float16Policy,
  float32Policy,
  formatCastingPolicy,
  lowDType,
  manualPolicy,
  mixedBfloat16Policy,
  mixedFloat16Policy,
  parseCastingPolicy,
} from "./cast/policy.js";
export type { CastRule } from "./cast/rule.js";
export { widenNodes } from "./cast/widen-nodes.js";
export { contentHash } from "./content-hash.js";
export type { ComputeDType, DType, FloatDType, FloatFormat, HalfDType, HostArrays } from "./dtype.js";
export {
  bytesPerElement,
  DTYPES,
  floatFormats,
  hostArrayOf,
  isComputeFloat,
  isFloat,
  isHalf,
} from "./dtype.js";
export type { ErrorCode, MpErrorOptions } from "./errors.js";
export { ERROR_CODES, MpError } from "./errors.js";
export { decode, decodeArray, encode, encodeArray } from "./float-format/bits.js";
export { roundTo } from "./float-format/round.js";
export { ulpDistance } from "./float-format/ulp.js";
// The graph
export type {
  KernelWindow,
  LossReduction,
  Op,
  OpAttributes,
  PoolingWindow,
  ScatterReduction,
} from "./graph/attributes.js";
export { formatType, GraphBuilder } from "./graph/builder.js";
export type { Cost, GraphCost } from "./graph/cost.js";
export { graphCost } from "./graph/cost.js";
export type { Family, OpOf, ReduceOp } from "./graph/families.js";
export { FAMILIES } from "./graph/families.js";
export type {
  AnyNode,
  Graph,
  GraphInput,
  GraphNode,
  GraphOutput,
  InputRole,
  Origin,
  Phase,
  Value,
  ValueType,
} from "./graph/graph.js";
export { isNode, producers } from "./graph/graph.js";
export { inferTypes } from "./graph/infer.js";
export { decidingDType, opDTypes } from "./graph/op-dtypes.js";
export { printGraph } from "./graph/print.js";
export { validateGraph } from "./graph/validate.js";
export type { HostTensor } from "./host-tensor.js";
export { byteLength, full, isHostTensor, ones, tensor, zeros } from "./host-tensor.js";
export type {
  Accumulation,
  Accumulators,
  BackendManifest,
  DTypeSupport,
  Nativeness,
  OpTolerance,
  Support,
  Ulp,
} from "./manifest.js";
export { accumulatorOf, defineManifest, unsupportedReason } from "./manifest.js";
// Optimizers
export type { AdagradOptions } from "./optim/adagrad.js";
export { adagrad } from "./optim/adagrad.js";
export type { AdamOptions, AdamState, AdamWOptions } from "./optim/adam.js";
export { adam, adamW } from "./optim/adam.js";
export { chain } from "./optim/chain.js";
export { clipByGlobalNorm, clipByValue } from "./optim/clip.js";
export { globalNorm } from "./optim/global-norm.js";
export type {
  GradientTransformation,
  LearningRate,
  Optimizer,
  Schedule,
  UpdateContext,
} from "./optim/optimizer.js";
export type { RmsPropOptions } from "./optim/rms-prop.js";
export { rmsProp } from "./optim/rms-prop.js";
export {
  cosineDecay,
  exponentialDecay,
  linearSchedule,
  piecewiseConstant,
  warmup,
} from "./optim/schedules.js";
export type { MomentumOptions, SgdOptions } from "./optim/sgd.js";
export { momentum, sgd } from "./optim/sgd.js";
export { weightDecay } from "./optim/weight-decay.js";
// Checks for the options of custom optimizers, layers and backends
export type { OptionNames } from "./options.js";
export { checkOptions } from "./options.js";
export type { DynamicLossScaleOptions, DynamicLossScaleState, LossScaler } from "./precision/loss-scaler.js";
export { dynamicLossScale, noLossScaling, staticLossScale } from "./precision/loss-scaler.js";
export type { KahanState, MasterWeights } from "./precision/master-weights.js";
export {
  f32Master,
  kahan,
  noMasterWeights,
  stochasticallyRounded,
  stochasticRounding,
} from "./precision/master-weights.js";
export type { Precision, PrecisionChoice } from "./precision/presets.js";
export {
  bfloat16,
  float16,
  float32,
  manual,
  mixed,
  mixedBfloat16,
  mixedFloat16,
} from "./precision/presets.js";
// The precision report
export type { ExponentHistogram } from "./precision/report/exponent-counts.js";
export { addHistograms } from "./precision/report/exponent-counts.js";
export type { MemoryKinds, StepMemory } from "./precision/report/memory-kinds.js";
export type { GradientRange, GroupHistogram, PrecisionReport } from "./precision/report/report.js";
export type { ScaleShare } from "./precision/report/scale-shares.js";
export { shareAtScale } from "./precision/report/scale-shares.js";
export type { ValueGroup, ValueKind } from "./precision/report/value-groups.js";
export type { Shape } from "./shape.js";
export { broadcastShapes, elementCount, formatShape, normalizeAxis, sameShape, stridesOf } from "./shape.js";
export { shown } from "./shown.js";
export { applyGraph } from "./trace/apply-graph.js";
// Tracing and transformations
export { checkpoint } from "./trace/checkpoint.js";
export type { Operand } from "./trace/emit.js";
export { asTensor } from "./trace/emit.js";
export { allFinite, poison } from "./trace/finite.js";
export type {
  AuxOptions,
  GradOptions,
  UnreachedLeaves,
  ValueAndGradients,
  ValueGradientsAux,
} from "./trace/grad.js";
export { grad, valueAndGrad } from "./trace/grad.js";
export { hostUniform } from "./trace/host-random.js";
export { hideFromOrigins } from "./trace/line.js";
export type { TensorTree } from "./trace/map-tensors.js";
export { mapTensors } from "./trace/map-tensors.js";
export type {
  BatchNormalizationOptions,
  BatchNormalized,
  ChannelStatistics,
} from "./trace/ops/batch-normalization.js";
export { batchNormalization, normalizeByStatistics } from "./trace/ops/batch-normalization.js";
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
} from "./trace/ops/binary.js";
export type { ConvOptions, ConvTransposeOptions } from "./trace/ops/convolution.js";
export { conv, convTranspose } from "./trace/ops/convolution.js";
export type { GroupNormalizationOptions } from "./trace/ops/group-normalization.js";
export { groupNormalization, instanceNormalization } from "./trace/ops/group-normalization.js";
export type { DepthMode, DepthOptions, LrnOptions } from "./trace/ops/image.js";
export { depthToSpace, lrn, spaceToDepth } from "./trace/ops/image.js";
export type { ScatterOptions } from "./trace/ops/indexing.js";
export {
  gather,
  gatherElements,
  gatherND,
  oneHot,
  scatterElements,
  scatterND,
} from "./trace/ops/indexing.js";
export type { LikelihoodOptions } from "./trace/ops/loss.js";
export { negativeLogLikelihoodLoss, softmaxCrossEntropyLoss } from "./trace/ops/loss.js";
export type { GemmOptions } from "./trace/ops/matrix.js";
export { einsum, gemm, matMul } from "./trace/ops/matrix.js";
export type { PadOptions, SliceRange } from "./trace/ops/movement.js";
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
} from "./trace/ops/movement.js";
export type { NormalizationOptions } from "./trace/ops/normalization.js";
export { layerNormalization, logSoftmax, rmsNormalization, softmax } from "./trace/ops/normalization.js";
export type {
  AveragePoolOptions,
  GlobalPoolOptions,
  PoolKernel,
  PoolOptions,
} from "./trace/ops/pooling.js";
export { averagePool, globalAveragePool, globalMaxPool, maxPool } from "./trace/ops/pooling.js";
export type { ArgOptions, ReduceOptions } from "./trace/ops/reduce.js";
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
} from "./trace/ops/reduce.js";
export type { CoordinateMode, NearestMode, ResizeMode, ResizeOptions } from "./trace/ops/resize.js";
export { resize } from "./trace/ops/resize.js";
export { constant, literal, range } from "./trace/ops/source.js";
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
} from "./trace/ops/unary.js";
export type { WindowOptions } from "./trace/ops/window-options.js";
export type { Key } from "./trace/random.js";
export { fold, key, randomBernoulli, randomBits, randomUniform, setRandomCounter } from "./trace/random.js";
export { squares32 } from "./trace/squares.js";
export { isTensor, Tensor } from "./trace/tensor.js";
export type { TracedInput } from "./trace/trace.js";
export { scope, traceInto } from "./trace/trace.js";
export type { ModelTrees } from "./train/checkpoint/load-parameters.js";
export { loadParameters } from "./train/checkpoint/load-parameters.js";
export type { FeedingOptions, FitOptions, FitResult, FitStep } from "./train/data/fit.js";
export type { Json } from "./train/data/json.js";
export type { LazyStep } from "./train/data/lazy-step.js";
// Training
export type { DataSource, TrainingData } from "./train/data/source.js";
export type { Attribution } from "./train/diagnosis/diagnose.js";
export type { Overflow, OverflowCause } from "./train/diagnosis/replay.js";
export type { FrozenMask } from "./train/frozen.js";
export type {
  AnyBatch,
  Fed,
  FedBatch,
  FedTensor,
  LossContext,
  LossFunction,
  LossParts,
  Traced,
} from "./train/step/loss.js";
export type { Counters, Evaluation, StepResult } from "./train/step/result.js";
export type { AllReduce } from "./train/step/window.js";
export type { Trainer, TrainerOptions } from "./train/trainer.js";
export { trainer } from "./train/trainer.js";
export type { TrainingWarning } from "./train/warning.js";
export type { GradientCut } from "./transform/gradient-cuts.js";
export { prepareGraph } from "./transform/prepare.js";
export type { LeafTest, MapLeaves, Tree } from "./tree.js";
export { leavesOf, mapTree, rebuildTree } from "./tree.js";
export { arrayClassOf } from "./typed-array.js";
