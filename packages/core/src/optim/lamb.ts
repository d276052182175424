import { type OptionTable, readOptions, withDefault } from "@mp/graph/internal";
import { compose } from "./composed.js";
import { positiveEpsilon } from "./moments.js";
import { type LearningRate, type Optimizer, rate } from "./optimizer.js";
import {
  ADAM_ELSEWHERE,
  type AdamState,
  BETAS,
  type ScaleByAdamOptions,
  scaleByAdam,
} from "./scale-by-adam.js";
import { type StateOptions, stateOptions } from "./states/state-options.js";
import { scaleByTrustRatio } from "./trust-ratio.js";
import { decay, decayBy } from "./weight-decay.js";

const SLOTS = { mean: "both", square: "nonNegative" } as const;

export interface LambOptions
  extends Pick<ScaleByAdamOptions, "beta1" | "beta2">,
    StateOptions<keyof typeof SLOTS> {
  readonly learningRate: LearningRate;
  /** Added to √v, in the unit of the gradients; f32, at least 2^-100. Default 1e-6. */
  readonly epsilon?: number;
  /** λ·w is added to the direction before its norm is taken; default 0, as in optax. The paper has 0.01. */
  readonly weightDecay?: number;
}

const LAMB = {
  learningRate: rate,
  ...stateOptions(SLOTS),
  ...BETAS,
  epsilon: withDefault(1e-6, positiveEpsilon),
  weightDecay: withDefault(0, decay),
} satisfies OptionTable<LambOptions>;

/**
 * You et al., arXiv 1904.00962, as optax computes it: the sum of Adam's direction and λ·w, scaled to each parameter's
 * norm. Give biases and normalizations an `adam` of their own by `byPath` and `biasesAndNorms`.
 */
export function lamb(options: LambOptions): Optimizer<AdamState> {
  const settings = readOptions("lamb", options, LAMB, {
    example: "{ learningRate: 1e-3 }",
    elsewhere: ADAM_ELSEWHERE,
  });
  const { learningRate: _rate, weightDecay, ...adam } = settings;
  return compose("lamb", settings, [scaleByAdam(adam), ...decayBy(weightDecay), scaleByTrustRatio()]);
}
