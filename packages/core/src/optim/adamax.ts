import { described } from "../described.js";
import { type OptionTable, readOptions, withDefault } from "../option-table.js";
import { mapTensors, type TensorTree } from "../trace/map-tensors.js";
import { add, div, maximum, mul } from "../trace/ops/binary.js";
import { abs } from "../trace/ops/unary.js";
import { composed } from "./composed.js";
import { averageFactor } from "./hyperparameter.js";
import { average, biasCorrection, positiveEpsilon, stepNumber } from "./moments.js";
import {
  type GradientTransformation,
  type LearningRate,
  type Optimizer,
  rate,
  zerosLike,
} from "./optimizer.js";
import { ADAM_ELSEWHERE } from "./scale-by-adam.js";

export interface ScaleByAdamaxOptions {
  /** Default 0.9. */
  readonly beta1?: number;
  /** Default 0.999. */
  readonly beta2?: number;
  /** Added to |g|, in the unit of the gradients; f32, at least 2^-100. Default 1e-8. */
  readonly epsilon?: number;
}

export interface AdamaxOptions extends ScaleByAdamaxOptions {
  readonly learningRate: LearningRate;
}

const SCALE_BY_ADAMAX = {
  beta1: withDefault(0.9, averageFactor),
  beta2: withDefault(0.999, averageFactor),
  epsilon: withDefault(1e-8, positiveEpsilon),
} satisfies OptionTable<ScaleByAdamaxOptions>;
const ADAMAX = { learningRate: rate, ...SCALE_BY_ADAMAX } satisfies OptionTable<AdamaxOptions>;

type State = { readonly mean: TensorTree; readonly norm: TensorTree };

/**
 * Kingma & Ba, arXiv 1412.6980, algorithm 2, with PyTorch's epsilon: u ← max(β₂·u, |g| + ε); w ← w - η·m / (1 - β₁ᵗ) / u.
 */
export function adamax(options: AdamaxOptions): Optimizer<State> {
  const settings = readOptions("adamax", options, ADAMAX, {
    example: "{ learningRate: 2e-3 }",
    elsewhere: { ...ADAM_ELSEWHERE, weightDecay: "use chain(weightDecay(1e-4), adamax({ learningRate }))" },
  });
  return composed("adamax", settings, [part(settings)]);
}

/** The direction of Adamax, without its learning rate. */
export function scaleByAdamax(options: ScaleByAdamaxOptions = {}): GradientTransformation<State> {
  return part(readOptions("scaleByAdamax", options, SCALE_BY_ADAMAX, { elsewhere: ADAM_ELSEWHERE }));
}

function part(settings: Required<ScaleByAdamaxOptions>): GradientTransformation<State> {
  const { beta1, beta2, epsilon } = settings;
  return {
    kind: "gradient",
    name: "scaleByAdamax",
    description: described("scaleByAdamax", settings),
    init: (parameters) => ({ mean: zerosLike(parameters), norm: zerosLike(parameters) }),
    update: (gradients, state, _parameters, context) => {
      const mean = average(state.mean, gradients, beta1);
      const norm = mapTensors((u, g) => maximum(mul(u, beta2), add(abs(g), epsilon)), state.norm, gradients);
      const correction = biasCorrection(beta1, stepNumber(context));
      return { updates: mapTensors((m, u) => div(m, mul(u, correction)), mean, norm), state: { mean, norm } };
    },
  };
}
