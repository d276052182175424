import { described } from "../described.js";
import { checkOptions } from "../options.js";
import { mapTensors, type TensorTree } from "../trace/map-tensors.js";
import { add, div } from "../trace/ops/binary.js";
import { sqrt } from "../trace/ops/unary.js";
import { checkHyperparameter } from "./hyperparameter.js";
import { average, checkEpsilon, square } from "./moments.js";
import { checkRate, descend, type LearningRate, type Optimizer, zerosLike } from "./optimizer.js";

export interface RmsPropOptions {
  readonly learningRate: LearningRate;
  /** Default 0.99, PyTorch's. */
  readonly decay?: number;
  /** Added to √s, in the unit of the gradients; f32, at least 2^-100. Default 1e-8. */
  readonly epsilon?: number;
}

/** Hinton's RMSProp: s ← ρ·s + (1-ρ)·g²; w ← w - η·g / (√s + ε). */
export function rmsProp(options: RmsPropOptions): Optimizer<{ readonly square: TensorTree }> {
  checkOptions(
    "rmsProp",
    options,
    { learningRate: true, decay: true, epsilon: true },
    "{ learningRate: 1e-3 }",
    {
      alpha: "did you mean decay?",
      rho: "did you mean decay?",
      momentum: "there is none; use momentum or adam",
    },
  );
  const { learningRate, decay = 0.99, epsilon = 1e-8 } = options;
  checkRate("rmsProp", learningRate);
  checkHyperparameter("rmsProp: decay", decay, { from: 0, below: 1 });
  checkEpsilon("rmsProp", epsilon);
  return {
    name: "rmsProp",
    description: described("rmsProp", { learningRate, decay, epsilon }),
    init: (parameters) => ({ square: zerosLike(parameters) }),
    update: (gradients, state, _parameters, context) => {
      const squares = average(state.square, mapTensors(square, gradients), decay);
      const direction = mapTensors((g, s) => div(g, add(sqrt(s), epsilon)), gradients, squares);
      return { ...descend(direction, learningRate, context), state: { square: squares } };
    },
  };
}
