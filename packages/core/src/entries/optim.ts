/** `@mp/core/optim`: every optimizer, gradient transformation and schedule, with the types of their options and states. */

// Optimizers
export { sgd, momentum, type SgdOptions, type MomentumOptions } from "../optim/sgd.js";
export { adam, adamW, type AdamOptions, type AdamWOptions } from "../optim/adam.js";
export { lion, type LionOptions } from "../optim/lion.js";
export { muon, type MuonOptions, type OutputAxis } from "../optim/muon.js";

// Adaptive optimizers
export { rmsProp, type RmsPropOptions, type RmsPropState } from "../optim/rms-prop.js";
export { adagrad, type AdagradOptions } from "../optim/adagrad.js";
export { adamax, type AdamaxOptions } from "../optim/adamax.js";
export { nadam, type NadamOptions } from "../optim/nadam.js";
export { radam, type RadamOptions } from "../optim/radam.js";
export { adadelta, type AdadeltaOptions } from "../optim/adadelta.js";

// Optimizers of large batches and sparse features
export { adafactor, type AdafactorOptions } from "../optim/adafactor.js";
export { lamb, type LambOptions } from "../optim/lamb.js";
export { lars, type LarsOptions } from "../optim/lars.js";
export { ftrl, type FtrlOptions } from "../optim/ftrl.js";

// Groups of parameters
export { byPath, biasesAndNorms, type PathRule, type ParameterTest } from "../optim/by-path.js";

// Gradient transformations
export { chain } from "../optim/chain.js";
export { clipByGlobalNorm, clipByValue } from "../optim/clip.js";
export { weightDecay, addDecayedWeights } from "../optim/weight-decay.js";
export { globalNorm } from "../optim/global-norm.js";

// Directions: to be scaled by a learning rate at the end of a chain
export { scaleByLearningRate, scaleBySchedule } from "../optim/scale-by-rate.js";
export { scaleByMomentum, type ScaleByMomentumOptions } from "../optim/sgd.js";
export { scaleByLion, type ScaleByLionOptions } from "../optim/lion.js";
export {
  scaleByFactoredRms,
  type ScaleByFactoredRmsOptions,
  type FactoredState,
} from "../optim/factored.js";
export { scaleByTrustRatio, type TrustRatioOptions } from "../optim/trust-ratio.js";
export { clipByBlockRms, scaleByParameterRms } from "../optim/root-mean-square.js";

// Adaptive directions
export { scaleByAdam, type ScaleByAdamOptions, type AdamState } from "../optim/scale-by-adam.js";
export { scaleByAdamax, type ScaleByAdamaxOptions } from "../optim/adamax.js";
export { scaleByNadam, type ScaleByNadamOptions } from "../optim/nadam.js";
export { scaleByRadam, type ScaleByRadamOptions } from "../optim/radam.js";
export { scaleByRms, type ScaleByRmsOptions } from "../optim/rms-prop.js";
export { scaleByRss, type ScaleByRssOptions } from "../optim/adagrad.js";
export { scaleByAdadelta, type ScaleByAdadeltaOptions } from "../optim/adadelta.js";

// Schedules
export { warmup } from "../optim/schedules/warmup.js";
export { cosineDecay } from "../optim/schedules/cosine-decay.js";
export { linearSchedule } from "../optim/schedules/linear-schedule.js";
export { exponentialDecay } from "../optim/schedules/exponential-decay.js";
export { polynomialDecay } from "../optim/schedules/polynomial-decay.js";
export { piecewiseConstant } from "../optim/schedules/piecewise-constant.js";
export { oneCycle } from "../optim/schedules/one-cycle.js";
export { warmRestarts } from "../optim/schedules/warm-restarts.js";
export { cyclic } from "../optim/schedules/cyclic.js";

export { settable, type SettableRate } from "../optim/settable.js";

// State in few bits
export type { StateOptions } from "../optim/states/state-options.js";
export type { StateFormat } from "../optim/states/state-format.js";

// Writing your own
export type {
  Optimizer,
  GradientTransformation,
  UpdateContext,
  LearningRate,
  Schedule,
} from "../optim/optimizer.js";
