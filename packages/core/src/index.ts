/**
 * `@mp/core`: mixed-precision training. Operators are in `@mp/core/ops`, also as the namespace `ops` here; more
 * optimizers and schedules in `@mp/core/optim`; graphs in `@mp/core/graph`; types of reports in `@mp/core/report`.
 */

// The trainer
export { trainer } from "./train/trainer.js";
export type { Trainer } from "./train/run/trainer-interface.js";
export type { TrainerOptions } from "./train/options.js";

// Precision: presets, casting policies, loss scalers, master weights
export {
  mixed,
  mixedFloat16,
  mixedBfloat16,
  float16,
  bfloat16,
  float32,
  manual,
  type Precision,
  type PrecisionChoice,
} from "./precision/presets.js";
export {
  castingPolicy,
  parseCastingPolicy,
  lowDType,
  type CastingPolicy,
  type CastingPolicyChanges,
  type CastingOverride,
} from "./cast/policy.js";
export {
  dynamicLossScale,
  staticLossScale,
  noLossScaling,
  type LossScaler,
  type DynamicLossScaleOptions,
  type DynamicLossScaleState,
} from "./precision/loss-scaler.js";
export {
  f32Master,
  noMasterWeights,
  kahan,
  stochasticRounding,
  type MasterWeights,
  type KahanState,
} from "./precision/master-weights.js";

// Recipes: products of 8 and 4 bits
export {
  float8,
  mxfp8,
  mxfp4,
  nvfp4,
  type Float8Options,
  type Mxfp8Options,
  type Mxfp4Options,
  type Nvfp4Options,
} from "./precision/quantized-presets.js";
export {
  delayedScaling,
  type DelayedScaling,
  type DelayedScalingOptions,
} from "./quantize/delayed-scaling.js";
export { recipesByStep, type RecipesByStep } from "./quantize/recipes-by-step.js";
export { recipe, type RecipeOptions } from "./quantize/define-recipe.js";
export type { Recipe } from "./quantize/recipe.js";
export { quantize, type Quantized } from "./quantize/quantize.js";
export type { QuantizationRule, ScaleRule } from "./quantize/rule.js";

// Losses and results: what a trainer calls, and what a step gives
export type { LossFunction, LossContext, LossParts, Traced, Fed, AnyBatch } from "./train/definition/loss.js";
export type { StepResult, Evaluation } from "./train/definition/result.js";
export type { FrozenMask } from "./train/weights/frozen.js";

// Training on data, in one process or many
export type { FitOptions } from "./train/data/fit.js";
export type { FitCallback, FitResult, FitStep } from "./train/callbacks/callback.js";
export type { TrainingData, DataSource } from "./train/data/source.js";
export type { Ranks } from "@mp/graph";
export type { AllReduce } from "./train/objective/window-reduction.js";

// Weights of a run: serving them, starting from them
export { predictor } from "./predict/predictor.js";
export type { Predictor } from "./predict/predictor-interface.js";
export { statefulPredictor, type StatefulPredictor } from "./predict/stateful-predictor.js";
export { loadParameters } from "./train/checkpoint/load-parameters.js";

// Reports of a run: its casts and ranges
export { formatCastReport, diffCastReports, type CastReport } from "./cast/explain.js";
export type { PrecisionReport } from "./train/report/report.js";
export type { Diagnosis } from "./train/diagnosis/diagnose.js";
export { withRemedies, type Remedy } from "./train/diagnosis/remedies.js";

// Optimizers: the common ones, and what composes them
export { sgd, momentum } from "./optim/sgd.js";
export { adam, adamW } from "./optim/adam.js";
export { rmsProp } from "./optim/rms-prop.js";
export { adagrad } from "./optim/adagrad.js";
export { chain } from "./optim/chain.js";
export { clipByGlobalNorm, clipByValue } from "./optim/clip.js";
export { weightDecay } from "./optim/weight-decay.js";
export { warmup } from "./optim/schedules/warmup.js";
export { cosineDecay } from "./optim/schedules/cosine-decay.js";
export type { Optimizer, GradientTransformation, Schedule } from "./optim/optimizer.js";

// Transformations and randomness
export { grad, valueAndGrad } from "@mp/graph";
export { customGradient } from "@mp/graph";
export { remat } from "@mp/graph";
export { autocast } from "./cast/autocast.js";
export { scope } from "@mp/graph";
export { mapTensors, type TensorTree } from "@mp/graph";
export { key, foldIn, type Key } from "@mp/graph";

// Tensors and trees of them
export { Tensor, isTensor } from "@mp/graph";
export { isHostTensor, tensor, zeros, ones, full, type HostTensor } from "@mp/graph";
export type { DType, HalfDType } from "@mp/graph";
export type { Shape } from "@mp/graph";
export { mapTree, leavesOf, rebuildTree, type Tree } from "@mp/graph";

// Backends, errors and warnings
export type { Backend } from "@mp/graph";
export type { BackendManifest } from "@mp/graph";
export type { TrainingWarning } from "./train/definition/warning.js";
export { MpError, ERROR_CODES, type ErrorCode } from "@mp/graph";

// Operators, as a namespace
import * as ops from "@mp/graph/ops";

export { ops };
