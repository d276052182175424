import { described } from "../described.js";
import { type OptionTable, readOptions, withDefault } from "../option-table.js";
import { mapTensors, type TensorTree } from "../trace/map-tensors.js";
import { add, div } from "../trace/ops/binary.js";
import { expand } from "../trace/ops/movement.js";
import { literal } from "../trace/ops/source.js";
import { sqrt } from "../trace/ops/unary.js";
import { hyperparameter } from "./hyperparameter.js";
import { positiveEpsilon, square } from "./moments.js";
import { descend, type LearningRate, type Optimizer, rate } from "./optimizer.js";

export interface AdagradOptions {
  readonly learningRate: LearningRate;
  /** Added to √s, in the unit of the gradients; f32, at least 2^-100. Default 1e-10, PyTorch's. */
  readonly epsilon?: number;
  /** What the sum of squares starts from; default 0. */
  readonly initialAccumulator?: number;
}

const ADAGRAD = {
  learningRate: rate,
  epsilon: withDefault(1e-10, positiveEpsilon),
  initialAccumulator: withDefault(0, hyperparameter({ from: 0 })),
} satisfies OptionTable<AdagradOptions>;

/** Duchi et al. 2011: s ← s + g²; w ← w - η·g / (√s + ε). */
export function adagrad(options: AdagradOptions): Optimizer<{ readonly sum: TensorTree }> {
  const read = readOptions("adagrad", options, ADAGRAD, { example: "{ learningRate: 0.1 }" });
  const { learningRate, epsilon, initialAccumulator } = read;
  return {
    name: "adagrad",
    description: described("adagrad", read),
    learningRates: { default: learningRate },
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
