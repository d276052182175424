import { truth } from "../argument-checks.js";
import { described } from "../described.js";
import { type OptionTable, readOptions, withDefault } from "../option-table.js";
import { mapTensors, type TensorTree } from "../trace/map-tensors.js";
import { add, mul } from "../trace/ops/binary.js";
import { averageFactor } from "./hyperparameter.js";
import { descend, type LearningRate, type Optimizer, rate, zerosLike } from "./optimizer.js";

export interface SgdOptions {
  readonly learningRate: LearningRate;
}

const SGD = { learningRate: rate } satisfies OptionTable<SgdOptions>;

/** w ← w - η·g. */
export function sgd(options: SgdOptions): Optimizer {
  const { learningRate } = readOptions("sgd", options, SGD, {
    example: "{ learningRate: 0.1 }",
    elsewhere: {
      momentum: "use momentum({ learningRate, momentum })",
      nesterov: "use momentum({ learningRate, nesterov })",
      weightDecay: "use chain(weightDecay(1e-4), sgd({ learningRate }))",
    },
  });
  return {
    name: "sgd",
    description: described("sgd", { learningRate }),
    learningRates: { default: learningRate },
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

const MOMENTUM = {
  ...SGD,
  momentum: withDefault(0.9, averageFactor),
  nesterov: withDefault(false, truth),
} satisfies OptionTable<MomentumOptions>;

/**
 * v ← μ·v + g; w ← w - η·v, or w - η·(g + μ·v) with Nesterov: PyTorch's form, with the learning rate outside the
 * velocity.
 */
export function momentum(options: MomentumOptions): Optimizer<{ readonly velocity: TensorTree }> {
  const read = readOptions("momentum", options, MOMENTUM, {
    example: "{ learningRate: 0.1 }",
    elsewhere: { weightDecay: "use chain(weightDecay(1e-4), momentum({ learningRate }))" },
  });
  const { learningRate, momentum: factor, nesterov } = read;
  const name = nesterov ? "nesterov" : "momentum";
  return {
    name,
    description: described(name, { learningRate, momentum: factor }),
    learningRates: { default: learningRate },
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
