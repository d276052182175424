import { mapTensors, type TensorTree } from "@mp/graph";
import { type OptionTable, readOptions, withDefault } from "@mp/graph/internal";
import { add, div, mul, sqrt } from "@mp/graph/ops";
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
import { type StateOptions, stateOptions } from "./states/state-options.js";
import { direction } from "./transformation.js";
import { decayHint } from "./weight-decay.js";

const SLOTS = { square: "nonNegative", delta: "nonNegative" } as const;

export interface ScaleByAdadeltaOptions extends StateOptions<keyof typeof SLOTS> {
  /** ρ of both averages; default 0.9, PyTorch's. Keras has 0.95. */
  readonly decay?: number;
  /** Added under both roots, in the unit of squares; f32, at least 2^-100. Default 1e-6, PyTorch's. Keras has 1e-7. */
  readonly epsilon?: number;
}

export interface AdadeltaOptions extends ScaleByAdadeltaOptions {
  /** Default 1; the paper has no learning rate. */
  readonly learningRate?: LearningRate;
}

const SCALE_BY_ADADELTA = {
  ...stateOptions(SLOTS),
  decay: withDefault(0.9, averageFactor),
  epsilon: withDefault(1e-6, positiveEpsilon),
} satisfies OptionTable<ScaleByAdadeltaOptions>;
const ADADELTA = {
  learningRate: withDefault<LearningRate>(1, rate),
  ...SCALE_BY_ADADELTA,
} satisfies OptionTable<AdadeltaOptions>;
const ELSEWHERE = { rho: "did you mean decay?" };

type State = { readonly square: TensorTree; readonly delta: TensorTree };

/** Zeiler, arXiv 1212.5701: d = g · √(δ + ε) / √(s + ε) with the averages s of g² and δ of d²; w ← w - η·d. */
export function adadelta(options: AdadeltaOptions = {}): Optimizer<State> {
  const settings = readOptions("adadelta", options, ADADELTA, {
    example: "{ decay: 0.95 }",
    elsewhere: { ...ELSEWHERE, ...decayHint("adadelta()") },
  });
  return compose("adadelta", settings, [part(settings)]);
}

/** The direction of Adadelta, without a learning rate. */
export function scaleByAdadelta(options: ScaleByAdadeltaOptions = {}): GradientTransformation<State> {
  return part(readOptions("scaleByAdadelta", options, SCALE_BY_ADADELTA, { elsewhere: ELSEWHERE }));
}

function part(settings: Required<ScaleByAdadeltaOptions>): GradientTransformation<State> {
  const { decay, epsilon } = settings;
  return direction("scaleByAdadelta", settings, {
    slots: SLOTS,
    init: (parameters) => ({ square: zerosLike(parameters), delta: zerosLike(parameters) }),
    update: (gradients, state) => {
      const squares = average(state.square, mapTensors(square, gradients), decay);
      const updates = mapTensors(
        (g, s, d) => mul(g, div(sqrt(add(d, epsilon)), sqrt(add(s, epsilon)))),
        gradients,
        squares,
        state.delta,
      );
      const delta = average(state.delta, mapTensors(square, updates), decay);
      return { updates, state: { square: squares, delta } };
    },
  });
}
