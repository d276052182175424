import { described } from "../described.js";
import { checkOptions } from "../options.js";
import { mapTensors, type TensorTree } from "../trace/map-tensors.js";
import { add, mul } from "../trace/ops/binary.js";
import { checkHyperparameter } from "./hyperparameter.js";
import { checkRate, descend, type LearningRate, type Optimizer, zerosLike } from "./optimizer.js";

export interface SgdOptions {
  readonly learningRate: LearningRate;
}

/** w ← w - η·g. */
export function sgd(options: SgdOptions): Optimizer {
  checkOptions("sgd", options, { learningRate: true }, "{ learningRate: 0.1 }", {
    momentum: "use momentum({ learningRate, momentum })",
    nesterov: "use momentum({ learningRate, nesterov })",
    weightDecay: "use chain(weightDecay(1e-4), sgd({ learningRate }))",
  });
  const { learningRate } = options;
  checkRate("sgd", learningRate);
  return {
    name: "sgd",
    description: described("sgd", { learningRate }),
    init: () => ({}),
    update: (gradients, state, _parameters, context) => ({
      ...descend(gradients, learningRate, context),
      state,
    }),
  };
}

export interface MomentumOptions extends SgdOptions {
  /** Default 0.9. */
  readonly momentum?: number;
  /** Look ahead along the velocity (Sutskever et al. 2013, as PyTorch computes it). */
  readonly nesterov?: boolean;
}

/**
 * v ← μ·v + g; w ← w - η·v, or w - η·(g + μ·v) with Nesterov: PyTorch's form, with the learning rate outside the
 * velocity.
 */
export function momentum(options: MomentumOptions): Optimizer<{ readonly velocity: TensorTree }> {
  checkOptions(
    "momentum",
    options,
    { learningRate: true, momentum: true, nesterov: true },
    "{ learningRate: 0.1 }",
    { weightDecay: "use chain(weightDecay(1e-4), momentum({ learningRate }))" },
  );
  const { learningRate, momentum: factor = 0.9, nesterov = false } = options;
  checkRate("momentum", learningRate);
  checkHyperparameter("momentum: momentum", factor, { from: 0, below: 1 });
  const name = nesterov ? "nesterov" : "momentum";
  return {
    name,
    description: described(name, { learningRate, momentum: factor }),
    init: (parameters) => ({ velocity: zerosLike(parameters) }),
    update: (gradients, state, _parameters, context) => {
      const velocity = mapTensors((v, g) => add(mul(v, factor), g), state.velocity, gradients);
      const direction = nesterov
        ? mapTensors((g, v) => add(g, mul(v, factor)), gradients, velocity)
        : velocity;
      return { ...descend(direction, learningRate, context), state: { velocity } };
    },
  };
}
