import { type OptionTable, readOptions } from "../option-table.js";
import { mapTensors, type TensorTree } from "../trace/map-tensors.js";
import { add, div, maximum, mul } from "../trace/ops/binary.js";
import { abs } from "../trace/ops/unary.js";
import { composed } from "./composed.js";
import { average, biasCorrection, stepNumber } from "./moments.js";
import {
  type GradientTransformation,
  type LearningRate,
  type Optimizer,
  rate,
  zerosLike,
} from "./optimizer.js";
import { ADAM_ELSEWHERE, BETAS } from "./scale-by-adam.js";
import { direction } from "./transformation.js";
import { decayHint } from "./weight-decay.js";

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

const ADAMAX = { learningRate: rate, ...BETAS } satisfies OptionTable<AdamaxOptions>;

type State = { readonly mean: TensorTree; readonly norm: TensorTree };

/**
 * Kingma & Ba, arXiv 1412.6980, algorithm 2, with PyTorch's epsilon: u ← max(β₂·u, |g| + ε); w ← w - η·m / (1 - β₁ᵗ) / u.
 */
export function adamax(options: AdamaxOptions): Optimizer<State> {
  const settings = readOptions("adamax", options, ADAMAX, {
    example: "{ learningRate: 2e-3 }",
    elsewhere: { ...ADAM_ELSEWHERE, ...decayHint("adamax({ learningRate })") },
  });
  return composed("adamax", settings, [part(settings)]);
}

/** The direction of Adamax, without its learning rate. */
export function scaleByAdamax(options: ScaleByAdamaxOptions = {}): GradientTransformation<State> {
  return part(readOptions("scaleByAdamax", options, BETAS, { elsewhere: ADAM_ELSEWHERE }));
}

function part(settings: Required<ScaleByAdamaxOptions>): GradientTransformation<State> {
  const { beta1, beta2, epsilon } = settings;
  return direction("scaleByAdamax", settings, {
    init: (parameters) => ({ mean: zerosLike(parameters), norm: zerosLike(parameters) }),
    update: (gradients, state, _parameters, context) => {
      const mean = average(state.mean, gradients, beta1);
      const norm = mapTensors((u, g) => maximum(mul(u, beta2), add(abs(g), epsilon)), state.norm, gradients);
      const correction = biasCorrection(beta1, stepNumber(context));
      return { updates: mapTensors((m, u) => div(m, mul(u, correction)), mean, norm), state: { mean, norm } };
    },
  });
}
