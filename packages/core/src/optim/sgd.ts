import { mapTensors, type TensorTree } from "@mp/graph";
import {
  checks,
  invalid,
  type OptionTable,
  readOptions,
  withDefault,
  withoutDefaults,
} from "@mp/graph/internal";
import { add, equal, literal, mul, where } from "@mp/graph/ops";
import { compose } from "./composed.js";
import { averageFactor } from "./hyperparameter.js";
import {
  type GradientTransformation,
  type LearningRate,
  type Optimizer,
  rate,
  zerosLike,
} from "./optimizer.js";
import { type StateOptions, stateOptions } from "./states/state-options.js";
import { direction } from "./transformation.js";
import { decay, decayHint, weightDecay } from "./weight-decay.js";

export interface SgdOptions {
  readonly learningRate: LearningRate;
}

const SGD = { learningRate: rate } satisfies OptionTable<SgdOptions>;

/** w ← w - η·g. */
export function sgd(options: SgdOptions): Optimizer {
  const settings = readOptions("sgd", options, SGD, {
    example: "{ learningRate: 0.1 }",
    elsewhere: {
      momentum: "use momentum({ learningRate, momentum })",
      nesterov: "use momentum({ learningRate, nesterov })",
      ...decayHint("sgd({ learningRate })"),
    },
  });
  return compose("sgd", settings, []);
}

export const VELOCITY = { velocity: "both" } as const;

export interface ScaleByMomentumOptions extends StateOptions<keyof typeof VELOCITY> {
  /** Default 0.9. */
  readonly momentum?: number;
  /** Nesterov momentum (Sutskever et al. 2013, as PyTorch computes it). Default false. */
  readonly nesterov?: boolean;
  /** Weights the gradient by 1 - dampening, except in the first step, as in PyTorch; default 0. Not with Nesterov. */
  readonly dampening?: number;
}

export interface MomentumOptions extends SgdOptions, ScaleByMomentumOptions {
  /** λ: λ·w is added to the gradients, as in PyTorch (L2 regularization of the master weights). Default 0. */
  readonly weightDecay?: number;
}

const LATER = {
  dampening: withDefault(0, averageFactor),
  weightDecay: withDefault(0, decay),
};
const SCALE_BY_MOMENTUM = {
  ...stateOptions(VELOCITY),
  momentum: withDefault(0.9, averageFactor),
  nesterov: withDefault(false, checks.truth),
  dampening: LATER.dampening,
} satisfies OptionTable<ScaleByMomentumOptions>;
const MOMENTUM = { ...SGD, ...SCALE_BY_MOMENTUM, ...LATER } satisfies OptionTable<MomentumOptions>;

type State = { readonly velocity: TensorTree };

/**
 * v ← μ·v + g; w ← w - η·v, or w - η·(g + μ·v) with Nesterov: PyTorch's form, with the learning rate outside the
 * velocity.
 */
export function momentum(options: MomentumOptions): Optimizer<State> {
  const settings = readOptions("momentum", options, MOMENTUM, { example: "{ learningRate: 0.1 }" });
  const { nesterov, ...others } = settings;
  const before = settings.weightDecay === 0 ? [] : [weightDecay(settings.weightDecay)];
  const parts = [...before, momentumPart("momentum", settings)];
  return compose(nesterov ? "nesterov" : "momentum", withoutDefaults(others, LATER), parts);
}

/** Accumulates gradients in a velocity, v ← μ·v + g: `momentum` without its rate, as optax's `trace`. */
export function scaleByMomentum(options: ScaleByMomentumOptions = {}): GradientTransformation<State> {
  return momentumPart("scaleByMomentum", readOptions("scaleByMomentum", options, SCALE_BY_MOMENTUM));
}

/** Makes the transformation from checked options with all defaults filled in. */
export function momentumPart(
  what: string,
  settings: Required<ScaleByMomentumOptions>,
): GradientTransformation<State> {
  const { momentum: factor, nesterov, dampening } = settings;
  if (nesterov && dampening !== 0) {
    throw invalid(`${what}: nesterov takes no dampening, got ${dampening}`);
  }
  return direction("scaleByMomentum", withoutDefaults(settings, LATER), {
    slots: VELOCITY,
    init: (parameters) => ({ velocity: zerosLike(parameters) }),
    update: (gradients, state, _parameters, { step }) => {
      const share = dampening === 0 ? undefined : where(equal(step, 0), literal(1), 1 - dampening);
      const velocity = mapTensors(
        (v, g) => add(mul(v, factor), share === undefined ? g : mul(g, share)),
        state.velocity,
        gradients,
      );
      const updates = nesterov ? mapTensors((g, v) => add(g, mul(v, factor)), gradients, velocity) : velocity;
      return { updates, state: { velocity } };
    },
  });
}
