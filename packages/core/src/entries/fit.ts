/** `@mp/core/fit`: the types of `fit`'s options and of callbacks, for callbacks that are written outside of a call. */

export type { FitOptions, Validation } from "../train/data/fit.js";
export type {
  CallbackAnswer,
  CallbackState,
  FitCallback,
  FitEnd,
  FitEpoch,
  FitPosition,
  FitResult,
  FitStart,
  FitStep,
  FitTraining,
  FitValidation,
  RatesByGroup,
} from "../train/callbacks/callback.js";
export type { Json } from "../train/callbacks/json.js";
