import { mapTensors, type TensorTree } from "@mp/graph";
import { checks, type OptionTable, readOptions, withDefault, withoutDefaults } from "@mp/graph/internal";
import { add, div, maximum, sqrt, sub } from "@mp/graph/ops";
import { compose } from "./composed.js";
import { averageFactor } from "./hyperparameter.js";
import { average, positiveEpsilon, square } from "./moments.js";
import {
  type GradientTransformation,
  type LearningRate,
  type Optimizer,
  rate,
  zerosLike,
} from "./optimizer.js";
import { momentumPart } from "./sgd.js";
import { type StateOptions, stateOptions } from "./states/state-options.js";
import { direction } from "./transformation.js";
import { decayHint } from "./weight-decay.js";

const SLOTS = { square: "nonNegative", mean: "both" } as const;
const RMS_PROP_SLOTS = { square: "nonNegative", mean: "both", velocity: "both" } as const;

export interface ScaleByRmsOptions extends StateOptions<keyof typeof SLOTS> {
  /** Default 0.99, PyTorch's. */
  readonly decay?: number;
  /** Added to √s, in the unit of the gradients; f32, at least 2^-100. Default 1e-8. */
  readonly epsilon?: number;
  /** Add epsilon to s under the root, in the unit of squares, as Keras and optax do. Default false, as in PyTorch. */
  readonly epsilonInRoot?: boolean;
  /** Divide by √(s - m²), with m the mean of the gradients (Graves, arXiv 1308.0850). Default false. */
  readonly centered?: boolean;
}

export interface RmsPropOptions
  extends Omit<ScaleByRmsOptions, "states">,
    StateOptions<keyof typeof RMS_PROP_SLOTS> {
  readonly learningRate: LearningRate;
  /** Momentum of the normalized gradients, with the learning rate outside, as in `momentum`; default 0, no momentum. */
  readonly momentum?: number;
}

/** Options added later. Descriptions leave them out at their defaults, so that they match older checkpoints. */
const LATER_PART = {
  epsilonInRoot: withDefault(false, checks.truth),
  centered: withDefault(false, checks.truth),
};
const LATER = { ...LATER_PART, momentum: withDefault(0, averageFactor) };
const SCALE_BY_RMS = {
  ...stateOptions(SLOTS),
  decay: withDefault(0.99, averageFactor),
  epsilon: withDefault(1e-8, positiveEpsilon),
  ...LATER_PART,
} satisfies OptionTable<ScaleByRmsOptions>;
const RMS_PROP = {
  learningRate: rate,
  ...SCALE_BY_RMS,
  ...stateOptions(RMS_PROP_SLOTS),
  ...LATER,
} satisfies OptionTable<RmsPropOptions>;
const ELSEWHERE = { alpha: "did you mean decay?", rho: "did you mean decay?" };

/** State of the direction; `mean` only if centered. */
type RmsState = { readonly square: TensorTree; readonly mean?: TensorTree };
/** State of the optimizer; `velocity` only with momentum. */
export type RmsPropState = RmsState & { readonly velocity?: TensorTree };

/** Hinton's RMSProp: s ← ρ·s + (1-ρ)·g²; w ← w - η·g / (√s + ε). */
export function rmsProp(options: RmsPropOptions): Optimizer<RmsPropState> {
  const settings = readOptions("rmsProp", options, RMS_PROP, {
    example: "{ learningRate: 1e-3 }",
    elsewhere: { ...ELSEWHERE, ...decayHint("rmsProp({ learningRate })") },
  });
  const { momentum } = settings;
  const after =
    momentum === 0 ? [] : [momentumPart("rmsProp", { ...settings, momentum, nesterov: false, dampening: 0 })];
  return compose("rmsProp", withoutDefaults(settings, LATER), [part(settings), ...after]);
}

/** The direction of RMSProp: gradients over the root of the average of their squares, g / (√s + ε). */
export function scaleByRms(options: ScaleByRmsOptions = {}): GradientTransformation<RmsState> {
  return part(readOptions("scaleByRms", options, SCALE_BY_RMS, { elsewhere: ELSEWHERE }));
}

function part(settings: Required<ScaleByRmsOptions>): GradientTransformation<RmsState> {
  const { decay, epsilon, epsilonInRoot, centered } = settings;
  return direction("scaleByRms", withoutDefaults(settings, LATER), {
    slots: SLOTS,
    init: (parameters) => ({
      square: zerosLike(parameters),
      ...(centered ? { mean: zerosLike(parameters) } : {}),
    }),
    update: (gradients, state) => {
      const squares = average(state.square, mapTensors(square, gradients), decay);
      const mean = centered ? average(state.mean ?? {}, gradients, decay) : undefined;
      // Rounding may leave the square of the mean above the mean of the squares.
      const variance =
        mean === undefined ? squares : mapTensors((s, m) => maximum(sub(s, square(m)), 0), squares, mean);
      const updates = mapTensors(
        (g, s) => div(g, epsilonInRoot ? sqrt(add(s, epsilon)) : add(sqrt(s), epsilon)),
        gradients,
        variance,
      );
      return { updates, state: { square: squares, ...(mean === undefined ? {} : { mean }) } };
    },
  });
}
