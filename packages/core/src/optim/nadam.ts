import { mapTensors, type Tensor, type TensorTree } from "@mp/graph";
import { type OptionTable, readOptions, withDefault } from "@mp/graph/internal";
import { add, div, exp, literal, mul, sqrt, sub } from "@mp/graph/ops";
import { compose } from "./composed.js";
import { hyperparameter } from "./hyperparameter.js";
import { average, biasCorrection, square, stepNumber } from "./moments.js";
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

const SLOTS = { mean: "both", square: "nonNegative" } as const;

export interface ScaleByNadamOptions extends StateOptions<keyof typeof SLOTS> {
  /** Default 0.9. */
  readonly beta1?: number;
  /** Default 0.999. */
  readonly beta2?: number;
  /** Added to √v, in the unit of the gradients; f32, at least 2^-100. Default 1e-8. */
  readonly epsilon?: number;
  /** ψ: how fast the momentum rises to β₁ with the steps. Default 4e-3, PyTorch's; Keras has 1. */
  readonly momentumDecay?: number;
}

export interface NadamOptions extends ScaleByNadamOptions {
  readonly learningRate: LearningRate;
}

const SCALE_BY_NADAM = {
  ...stateOptions(SLOTS),
  ...BETAS,
  momentumDecay: withDefault(4e-3, hyperparameter({ from: 0 })),
} satisfies OptionTable<ScaleByNadamOptions>;
const NADAM = { learningRate: rate, ...SCALE_BY_NADAM } satisfies OptionTable<NadamOptions>;

/** `product` is the product of all steps' momenta, one scalar. */
type State = { readonly mean: TensorTree; readonly square: TensorTree; readonly product: Tensor };

/**
 * Adam with Nesterov momentum (Dozat, ICLR workshop 2016), as PyTorch computes it: the momentum of step t is
 * β₁·(1 - 0.96^(t·ψ) / 2).
 */
export function nadam(options: NadamOptions): Optimizer<State> {
  const settings = readOptions("nadam", options, NADAM, {
    example: "{ learningRate: 2e-3 }",
    elsewhere: { ...ADAM_ELSEWHERE, ...decayHint("nadam({ learningRate })") },
  });
  return compose("nadam", settings, [part(settings)]);
}

/** The direction of NAdam, without its learning rate. */
export function scaleByNadam(options: ScaleByNadamOptions = {}): GradientTransformation<State> {
  return part(readOptions("scaleByNadam", options, SCALE_BY_NADAM, { elsewhere: ADAM_ELSEWHERE }));
}

function part(settings: Required<ScaleByNadamOptions>): GradientTransformation<State> {
  const { beta1, beta2, epsilon, momentumDecay } = settings;
  const momentumAt = (t: Tensor): Tensor =>
    mul(sub(1, mul(exp(mul(t, momentumDecay * Math.log(0.96))), 0.5)), beta1);
  return direction("scaleByNadam", settings, {
    slots: SLOTS,
    init: (parameters) => ({
      mean: zerosLike(parameters),
      square: zerosLike(parameters),
      product: literal(1),
    }),
    update: (gradients, state, _parameters, context) => {
      const mean = average(state.mean, gradients, beta1);
      const squares = average(state.square, mapTensors(square, gradients), beta2);
      const t = stepNumber(context);
      const [now, next] = [momentumAt(t), momentumAt(add(t, 1))];
      const product = mul(state.product, now);
      const c2 = sqrt(biasCorrection(beta2, t));
      // (g·a + m·b) / (√v/√c2 + ε), with √c2 in the scalar factors.
      const a = mul(div(sub(1, now), sub(1, product)), c2);
      const b = mul(div(next, sub(1, mul(product, next))), c2);
      const floor = mul(c2, epsilon);
      const updates = mapTensors(
        (g, m, v) => div(add(mul(g, a), mul(m, b)), add(sqrt(v), floor)),
        gradients,
        mean,
        squares,
      );
      return { updates, state: { mean, square: squares, product } };
    },
  });
}
