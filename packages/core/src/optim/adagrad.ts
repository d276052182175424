import { mapTensors, type TensorTree } from "@mp/graph";
import { type OptionTable, readOptions, withDefault } from "@mp/graph/internal";
import { add, div, sqrt } from "@mp/graph/ops";
import { compose } from "./composed.js";
import { hyperparameter } from "./hyperparameter.js";
import { positiveEpsilon, square } from "./moments.js";
import {
  fillLike,
  type GradientTransformation,
  type LearningRate,
  type Optimizer,
  rate,
} from "./optimizer.js";
import { type StateOptions, stateOptions } from "./states/state-options.js";
import { direction } from "./transformation.js";

const SLOTS = { sum: "nonNegative" } as const;

export interface ScaleByRssOptions extends StateOptions<keyof typeof SLOTS> {
  /** Added to √s, in the unit of the gradients; f32, at least 2^-100. Default 1e-10, PyTorch's. */
  readonly epsilon?: number;
  /** Start of the sum of squares; default 0. */
  readonly initialAccumulator?: number;
}

export interface AdagradOptions extends ScaleByRssOptions {
  readonly learningRate: LearningRate;
}

const SCALE_BY_RSS = {
  ...stateOptions(SLOTS),
  epsilon: withDefault(1e-10, positiveEpsilon),
  initialAccumulator: withDefault(0, hyperparameter({ from: 0 })),
} satisfies OptionTable<ScaleByRssOptions>;
const ADAGRAD = { learningRate: rate, ...SCALE_BY_RSS } satisfies OptionTable<AdagradOptions>;

type State = { readonly sum: TensorTree };

/** Duchi et al. 2011: s ← s + g²; w ← w - η·g / (√s + ε). */
export function adagrad(options: AdagradOptions): Optimizer<State> {
  const settings = readOptions("adagrad", options, ADAGRAD, { example: "{ learningRate: 0.1 }" });
  return compose("adagrad", settings, [part(settings)]);
}

/** The direction of Adagrad: gradients over the root of the sum of their squares, g / (√s + ε). */
export function scaleByRss(options: ScaleByRssOptions = {}): GradientTransformation<State> {
  return part(readOptions("scaleByRss", options, SCALE_BY_RSS));
}

function part(settings: Required<ScaleByRssOptions>): GradientTransformation<State> {
  const { epsilon, initialAccumulator } = settings;
  return direction("scaleByRss", settings, {
    slots: SLOTS,
    init: (parameters) => ({ sum: fillLike(parameters, initialAccumulator) }),
    update: (gradients, state) => {
      const sum = mapTensors((s, g) => add(s, square(g)), state.sum, gradients);
      const updates = mapTensors((g, s) => div(g, add(sqrt(s), epsilon)), gradients, sum);
      return { updates, state: { sum } };
    },
  });
}
