import type { TensorTree } from "@mp/graph";
import { checks, type OptionTable, readOptions, withDefault } from "@mp/graph/internal";
import { compose } from "./composed.js";
import { averageFactor } from "./hyperparameter.js";
import { type LearningRate, type Optimizer, rate } from "./optimizer.js";
import { momentumPart, VELOCITY } from "./sgd.js";
import { type StateOptions, stateOptions } from "./states/state-options.js";
import { scaleByTrustRatio, TRUST_RATIO, type TrustRatioOptions } from "./trust-ratio.js";
import { decay, decayBy } from "./weight-decay.js";

export interface LarsOptions extends Pick<TrustRatioOptions, "epsilon">, StateOptions<keyof typeof VELOCITY> {
  readonly learningRate: LearningRate;
  /** Default 0.9. */
  readonly momentum?: number;
  /** Nesterov momentum; default false. */
  readonly nesterov?: boolean;
  /** Coefficient λ: λ·w is added to the gradients before their norm is taken; default 0. */
  readonly weightDecay?: number;
  /** Default 0.001. */
  readonly trustCoefficient?: number;
}

const LARS = {
  learningRate: rate,
  ...stateOptions(VELOCITY),
  momentum: withDefault(0.9, averageFactor),
  nesterov: withDefault(false, checks.truth),
  weightDecay: withDefault(0, decay),
  trustCoefficient: withDefault(0.001, TRUST_RATIO.trustCoefficient.accepts),
  epsilon: TRUST_RATIO.epsilon,
} satisfies OptionTable<LarsOptions>;

/**
 * You et al., arXiv 1708.03888: the sum of gradient and λ·w, scaled to each parameter's norm, then momentum. As in
 * `momentum` the learning rate is outside the velocity; in optax it is inside, which makes a difference when the rate
 * changes. Give biases and normalizations a `momentum` of their own by `byPath` and `biasesAndNorms`.
 */
export function lars(options: LarsOptions): Optimizer<{ readonly velocity: TensorTree }> {
  const settings = readOptions("lars", options, LARS, { example: "{ learningRate: 0.1 }" });
  const { trustCoefficient, epsilon } = settings;
  return compose("lars", settings, [
    ...decayBy(settings.weightDecay),
    scaleByTrustRatio({ trustCoefficient, epsilon }),
    momentumPart("lars", { ...settings, dampening: 0 }),
  ]);
}
