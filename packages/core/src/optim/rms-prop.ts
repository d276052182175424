import { described } from "../described.js";
import { type OptionTable, readOptions, withDefault } from "../option-table.js";
import { mapTensors, type TensorTree } from "../trace/map-tensors.js";
import { add, div } from "../trace/ops/binary.js";
import { sqrt } from "../trace/ops/unary.js";
import { averageFactor } from "./hyperparameter.js";
import { average, positiveEpsilon, square } from "./moments.js";
import { descend, type LearningRate, type Optimizer, rate, zerosLike } from "./optimizer.js";

export interface RmsPropOptions {
  readonly learningRate: LearningRate;
  /** Default 0.99, PyTorch's. */
  readonly decay?: number;
  /** Added to √s, in the unit of the gradients; f32, at least 2^-100. Default 1e-8. */
  readonly epsilon?: number;
}

const RMS_PROP = {
  learningRate: rate,
  decay: withDefault(0.99, averageFactor),
  epsilon: withDefault(1e-8, positiveEpsilon),
} satisfies OptionTable<RmsPropOptions>;

/** Hinton's RMSProp: s ← ρ·s + (1-ρ)·g²; w ← w - η·g / (√s + ε). */
export function rmsProp(options: RmsPropOptions): Optimizer<{ readonly square: TensorTree }> {
  const read = readOptions("rmsProp", options, RMS_PROP, {
    example: "{ learningRate: 1e-3 }",
    elsewhere: {
      alpha: "did you mean decay?",
      rho: "did you mean decay?",
      momentum: "there is none; use momentum or adam",
      weightDecay: "use chain(weightDecay(1e-4), rmsProp({ learningRate }))",
    },
  });
  const { learningRate, decay, epsilon } = read;
  return {
    name: "rmsProp",
    description: described("rmsProp", read),
    learningRates: { default: learningRate },
    init: (parameters) => ({ square: zerosLike(parameters) }),
    update: (gradients, state, _parameters, context) => {
      const squares = average(state.square, mapTensors(square, gradients), decay);
      const direction = mapTensors((g, s) => div(g, add(sqrt(s), epsilon)), gradients, squares);
      return { ...descend(direction, learningRate, context), state: { square: squares } };
    },
  };
}
