/** `@mp/core/optim`: every optimizer, gradient transformation and schedule, with the types of their options and states. */

// Optimizers
export { sgd, momentum, type SgdOptions, type MomentumOptions } from "../optim/sgd.js";
export { adam, adamW, type AdamOptions, type AdamState, type AdamWOptions } from "../optim/adam.js";
export { rmsProp, type RmsPropOptions } from "../optim/rms-prop.js";
export { adagrad, type AdagradOptions } from "../optim/adagrad.js";
export { byPath, biasesAndNorms, type PathRule, type ParameterTest } from "../optim/by-path.js";

// Gradient transformations
export { chain } from "../optim/chain.js";
export { clipByGlobalNorm, clipByValue } from "../optim/clip.js";
export { weightDecay } from "../optim/weight-decay.js";
export { globalNorm } from "../optim/global-norm.js";

// Schedules
export {
  warmup,
  cosineDecay,
  linearSchedule,
  exponentialDecay,
  piecewiseConstant,
} from "../optim/schedules.js";

export { settable, type SettableRate } from "../optim/settable.js";

// Writing your own
export type {
  Optimizer,
  GradientTransformation,
  UpdateContext,
  LearningRate,
  Schedule,
} from "../optim/optimizer.js";
