import { mapTensors, type Tensor, type TensorTree } from "@mp/graph";
import { checks, type OptionTable, readOptions, withDefault, withoutDefaults } from "@mp/graph/internal";
import { abs, add, div, maximum, mul } from "@mp/graph/ops";
import { compose } from "./composed.js";
import { average, biasCorrection, stepNumber } from "./moments.js";
import {
  type GradientTransformation,
  type LearningRate,
  type Optimizer,
  rate,
  zerosLike,
} from "./optimizer.js";
import { ADAM_ELSEWHERE, BETAS } from "./scale-by-adam.js";
import { type StateOptions, stateOptions } from "./states/state-options.js";
import { direction } from "./transformation.js";
import { decayHint } from "./weight-decay.js";

const SLOTS = { mean: "both", norm: "nonNegative" } as const;

export interface ScaleByAdamaxOptions extends StateOptions<keyof typeof SLOTS> {
  /** Default 0.9. */
  readonly beta1?: number;
  /** Default 0.999. */
  readonly beta2?: number;
  /** Added to |g|, in the unit of the gradients; f32, at least 2^-100. Default 1e-8. */
  readonly epsilon?: number;
  /** Add epsilon to the divisor u instead, as Keras does. Default false: to |g|, as PyTorch and optax do. */
  readonly epsilonOutside?: boolean;
}

export interface AdamaxOptions extends ScaleByAdamaxOptions {
  readonly learningRate: LearningRate;
}

/** Options added later. Descriptions leave them out at their defaults, so that they match older checkpoints. */
const LATER = { epsilonOutside: withDefault(false, checks.truth) };
const SCALE_BY_ADAMAX = {
  ...stateOptions(SLOTS),
  ...BETAS,
  ...LATER,
} satisfies OptionTable<ScaleByAdamaxOptions>;
const ADAMAX = { learningRate: rate, ...SCALE_BY_ADAMAX } satisfies OptionTable<AdamaxOptions>;

type State = { readonly mean: TensorTree; readonly norm: TensorTree };

/**
 * Kingma & Ba, arXiv 1412.6980, algorithm 2, with PyTorch's epsilon: u ← max(β₂·u, |g| + ε); w ← w - η·m / (1 - β₁ᵗ) / u.
 */
export function adamax(options: AdamaxOptions): Optimizer<State> {
  const settings = readOptions("adamax", options, ADAMAX, {
    example: "{ learningRate: 2e-3 }",
    elsewhere: { ...ADAM_ELSEWHERE, ...decayHint("adamax({ learningRate })") },
  });
  return compose("adamax", withoutDefaults(settings, LATER), [part(settings)]);
}

/** The direction of Adamax, without its learning rate. */
export function scaleByAdamax(options: ScaleByAdamaxOptions = {}): GradientTransformation<State> {
  return part(readOptions("scaleByAdamax", options, SCALE_BY_ADAMAX, { elsewhere: ADAM_ELSEWHERE }));
}

function part(settings: Required<ScaleByAdamaxOptions>): GradientTransformation<State> {
  const { beta1, beta2, epsilon, epsilonOutside } = settings;
  return direction("scaleByAdamax", withoutDefaults(settings, LATER), {
    slots: SLOTS,
    init: (parameters) => ({ mean: zerosLike(parameters), norm: zerosLike(parameters) }),
    update: (gradients, state, _parameters, context) => {
      const mean = average(state.mean, gradients, beta1);
      const [inside, outside] = epsilonOutside ? [0, epsilon] : [epsilon, 0];
      const norm = mapTensors((u, g) => maximum(mul(u, beta2), plus(abs(g), inside)), state.norm, gradients);
      const correction = biasCorrection(beta1, stepNumber(context));
      return {
        updates: mapTensors((m, u) => div(m, mul(plus(u, outside), correction)), mean, norm),
        state: { mean, norm },
      };
    },
  });
}

const plus = (x: Tensor, number: number): Tensor => (number === 0 ? x : add(x, number));
