/** Adam and AdamW. Epsilon and the moments are f32: in f16, 1e-8 would round to 0. */
import { described } from "../described.js";
import { type OptionTable, type OptionValues, readOptions, withDefault } from "../option-table.js";
import { mapTensors, type TensorTree } from "../trace/map-tensors.js";
import { add, div, mul } from "../trace/ops/binary.js";
import { cast, sqrt } from "../trace/ops/unary.js";
import { averageFactor, hyperparameter } from "./hyperparameter.js";
import { average, biasCorrection, positiveEpsilon, square } from "./moments.js";
import {
  descend,
  type LearningRate,
  type Optimizer,
  rate,
  type UpdateContext,
  zerosLike,
} from "./optimizer.js";

export interface AdamOptions {
  readonly learningRate: LearningRate;
  /** Default 0.9. */
  readonly beta1?: number;
  /** Default 0.999. */
  readonly beta2?: number;
  /** Added to √v, in the unit of the gradients; f32 under any policy, at least 2^-100. Default 1e-8. */
  readonly epsilon?: number;
}

const ADAM = {
  learningRate: rate,
  beta1: withDefault(0.9, averageFactor),
  beta2: withDefault(0.999, averageFactor),
  epsilon: withDefault(1e-8, positiveEpsilon),
} satisfies OptionTable<AdamOptions>;
const HINTS = {
  example: "{ learningRate: 1e-3 }",
  elsewhere: { betas: "did you mean beta1 and beta2?" },
};

export type AdamState = { readonly mean: TensorTree; readonly square: TensorTree };

/** Kingma & Ba, arXiv 1412.6980, algorithm 1: bias-corrected moments, counting applied steps. */
export function adam(options: AdamOptions): Optimizer<AdamState> {
  const settings = readOptions("adam", options, ADAM, {
    ...HINTS,
    elsewhere: {
      ...HINTS.elsewhere,
      weightDecay:
        "use adamW({ learningRate, weightDecay }), or chain(weightDecay(1e-4), adam({ learningRate }))",
    },
  });
  const { learningRate } = settings;
  return {
    name: "adam",
    description: described("adam", settings),
    learningRates: { default: learningRate },
    init: adamState,
    update: (gradients, state, _parameters, context) => {
      const { direction, next } = adamDirection(gradients, state, settings, context);
      return { ...descend(direction, learningRate, context), state: next };
    },
  };
}

export interface AdamWOptions extends AdamOptions {
  /** Decoupled weight decay of the master weights; default 0.01. */
  readonly weightDecay?: number;
}

const ADAM_W = {
  ...ADAM,
  weightDecay: withDefault(0.01, hyperparameter({ from: 0 })),
} satisfies OptionTable<AdamWOptions>;

/** Loshchilov & Hutter, arXiv 1711.05101: Adam plus w ← w - η·λ·w. */
export function adamW(options: AdamWOptions): Optimizer<AdamState> {
  const settings = readOptions("adamW", options, ADAM_W, HINTS);
  const { learningRate, weightDecay } = settings;
  return {
    name: "adamW",
    description: described("adamW", settings),
    learningRates: { default: learningRate },
    init: adamState,
    update: (gradients, state, parameters, context) => {
      const { direction, next } = adamDirection(gradients, state, settings, context);
      const decayed = mapTensors((d, w) => add(d, mul(w, weightDecay)), direction, parameters);
      return { ...descend(decayed, learningRate, context), state: next };
    },
  };
}

const adamState = (parameters: TensorTree): AdamState => ({
  mean: zerosLike(parameters),
  square: zerosLike(parameters),
});

function adamDirection(
  gradients: TensorTree,
  state: AdamState,
  { beta1, beta2, epsilon }: OptionValues<AdamOptions, typeof ADAM>,
  context: UpdateContext,
): { readonly direction: TensorTree; readonly next: AdamState } {
  const mean = average(state.mean, gradients, beta1);
  const squares = average(state.square, mapTensors(square, gradients), beta2);
  const t = add(cast(context.step, "f32"), 1);
  const [c1, c2] = [biasCorrection(beta1, t), sqrt(biasCorrection(beta2, t))];
  // m/c1 / (√v/√c2 + ε) with the scalar factors combined: m · (√c2/c1) / (√v + ε·√c2).
  const factor = div(c2, c1);
  const floor = mul(c2, epsilon);
  const direction = mapTensors((m, v) => mul(div(m, add(sqrt(v), floor)), factor), mean, squares);
  return { direction, next: { mean, square: squares } };
}
