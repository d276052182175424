import { described } from "../described.js";
import { checkOptions } from "../options.js";
import { mapTensors, type TensorTree } from "../trace/map-tensors.js";
import { add, div } from "../trace/ops/binary.js";
import { expand } from "../trace/ops/movement.js";
import { literal } from "../trace/ops/source.js";
import { sqrt } from "../trace/ops/unary.js";
import { checkHyperparameter } from "./hyperparameter.js";
import { checkEpsilon, square } from "./moments.js";
import { checkRate, descend, type LearningRate, type Optimizer } from "./optimizer.js";

export interface AdagradOptions {
  readonly learningRate: LearningRate;
  /** Added to √s, in the unit of the gradients; f32, at least 2^-100. Default 1e-10, PyTorch's. */
  readonly epsilon?: number;
  /** What the sum of squares starts from; default 0. */
  readonly initialAccumulator?: number;
}

/** Duchi et al. 2011: s ← s + g²; w ← w - η·g / (√s + ε). */
export function adagrad(options: AdagradOptions): Optimizer<{ readonly sum: TensorTree }> {
  checkOptions(
    "adagrad",
    options,
    { learningRate: true, epsilon: true, initialAccumulator: true },
    "{ learningRate: 0.1 }",
  );
  const { learningRate, epsilon = 1e-10, initialAccumulator = 0 } = options;
  checkRate("adagrad", learningRate);
  checkEpsilon("adagrad", epsilon);
  checkHyperparameter("adagrad: initialAccumulator", initialAccumulator, { from: 0 });
  return {
    name: "adagrad",
    description: described("adagrad", { learningRate, epsilon, initialAccumulator }),
    init: (parameters) => ({
      sum: mapTensors((leaf) => expand(literal(initialAccumulator), leaf.shape), parameters),
    }),
    update: (gradients, state, _parameters, context) => {
      const sum = mapTensors((s, g) => add(s, square(g)), state.sum, gradients);
      const direction = mapTensors((g, s) => div(g, add(sqrt(s), epsilon)), gradients, sum);
      return { ...descend(direction, learningRate, context), state: { sum } };
    },
  };
}
