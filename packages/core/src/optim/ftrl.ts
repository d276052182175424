import { mapTensors, type Tensor, type TensorTree } from "@mp/graph";
import { described, type OptionTable, readOptions, withDefault, withoutDefaults } from "@mp/graph/internal";
import { add, clip, div, literal, mul, pow, reciprocal, sqrt, sub } from "@mp/graph/ops";
import { checkHyperparameter } from "./hyperparameter.js";
import { positiveEpsilon, square } from "./moments.js";
import { fillLike, type LearningRate, type Optimizer, rate, rateAt, zerosLike } from "./optimizer.js";
import { STATE_OPTIONS, type StateOptions, stateOptions } from "./states/state-options.js";
import { withStoredStates } from "./stored-states.js";
import { decay, decayHint } from "./weight-decay.js";

const SLOTS = { sum: "nonNegative", linear: "both" } as const;

export interface FtrlOptions extends StateOptions<keyof typeof SLOTS> {
  /** Rate above 0; a step at which a schedule gives 0 is skipped. */
  readonly learningRate: LearningRate;
  /** Power of the sum of squares; default 0.5, the square root. Keras's `learning_rate_power` is its negative. */
  readonly power?: number;
  /** Start of the sum of squares; at least 2^-100. Default 0.1. */
  readonly initialAccumulator?: number;
  /** L1 regularization: a weight is exactly 0 if its sum of gradients is at most this in magnitude; default 0. */
  readonly l1?: number;
  /** L2 regularization; default 0. */
  readonly l2?: number;
  /** L2 regularization that is added to the gradients, but not to the sum of squares; default 0. */
  readonly l2Shrinkage?: number;
  /** Added to the root of the sum of squares; default 0. */
  readonly beta?: number;
}

const FTRL = {
  ...stateOptions(SLOTS),
  learningRate: (what, value) => {
    rate(what, value);
    if (typeof value === "number") checkHyperparameter(what, value, { from: 0, open: true });
  },
  power: withDefault(0.5, decay),
  initialAccumulator: withDefault(0.1, positiveEpsilon),
  l1: withDefault(0, decay),
  l2: withDefault(0, decay),
  l2Shrinkage: withDefault(0, decay),
  beta: withDefault(0, decay),
} satisfies OptionTable<FtrlOptions>;

type State = { readonly sum: TensorTree; readonly linear: TensorTree };

/**
 * Follow the regularized leader (McMahan et al. 2013), as Keras computes it: with the sums s of squares and z of
 * gradients, w ← (clip(z, ±l1) - z) / ((√s + β) / η + 2·l2). Since weights follow from z alone, initial weights count
 * only until the first step.
 */
export function ftrl(options: FtrlOptions): Optimizer<State> {
  const settings = readOptions("ftrl", options, FTRL, {
    example: "{ learningRate: 0.1 }",
    elsewhere: decayHint("ftrl({ learningRate })"),
  });
  const { learningRate, power, initialAccumulator, l1, l2, l2Shrinkage, beta } = settings;
  const root = (s: Tensor): Tensor => (power === 0.5 ? sqrt(s) : pow(s, power));
  const plain: Optimizer<State> = {
    name: "ftrl",
    description: described("ftrl", withoutDefaults(settings, STATE_OPTIONS)),
    scope: "element",
    learningRates: { default: learningRate },
    init: (parameters) => ({
      sum: fillLike(parameters, initialAccumulator),
      linear: zerosLike(parameters),
    }),
    update: (gradients, state, parameters, context) => {
      const eta = typeof learningRate === "number" ? literal(learningRate) : rateAt(learningRate, context);
      const inverse = reciprocal(eta);
      const sum = mapTensors((s, g) => add(s, square(g)), state.sum, gradients);
      const linear = mapTensors(
        (z, g, w, before, after) => {
          const pull = sub(mul(sub(root(after), root(before)), inverse), 2 * l2Shrinkage);
          return add(z, sub(g, mul(pull, w)));
        },
        state.linear,
        gradients,
        parameters,
        state.sum,
        sum,
      );
      const updates = mapTensors(
        (z, s, w) => {
          const denominator = add(mul(add(root(s), beta), inverse), 2 * l2);
          return sub(div(sub(clip(z, { min: -l1, max: l1 }), z), denominator), w);
        },
        linear,
        sum,
        parameters,
      );
      return {
        updates,
        state: { sum, linear },
        rates: typeof learningRate === "number" ? [] : [eta, inverse],
      };
    },
  };
  return withStoredStates(plain, SLOTS, settings);
}
