import { truth } from "../argument-checks.js";
import { type DefaultedOptions, readOptions, withDefault, withoutDefaults } from "../option-table.js";
import { mapTensors, type TensorTree } from "../trace/map-tensors.js";
import { add, div, maximum, mul } from "../trace/ops/binary.js";
import { sqrt } from "../trace/ops/unary.js";
import { averageFactor, hyperparameter } from "./hyperparameter.js";
import { average, biasCorrection, positiveEpsilon, square, stepNumber } from "./moments.js";
import { type GradientTransformation, zerosLike } from "./optimizer.js";
import { direction } from "./transformation.js";

export interface ScaleByAdamOptions {
  /** Default 0.9. */
  readonly beta1?: number;
  /** Default 0.999. */
  readonly beta2?: number;
  /** Added to √v, in the unit of the gradients; f32 under any policy, at least 2^-100. Default 1e-8. */
  readonly epsilon?: number;
  /**
   * Divide by the largest second moment so far (Reddi et al., arXiv 1904.09237), before its bias is corrected, as PyTorch
   * and Keras do. Default false.
   */
  readonly amsgrad?: boolean;
  /**
   * Add epsilon to √v before its bias is corrected, as Keras does: the ε̂ of the paper's section 2. Default false: after
   * that, as PyTorch and optax do.
   */
  readonly epsilonHat?: boolean;
  /** Added to v under the root, after its bias is corrected; `eps_root` of optax. Default 0. */
  readonly epsilonRoot?: number;
}

/** `maximum` only with `amsgrad`. */
export type AdamState = {
  readonly mean: TensorTree;
  readonly square: TensorTree;
  readonly maximum?: TensorTree;
};

/** Options that came after the first checkpoints. */
export const LATER: DefaultedOptions<Pick<ScaleByAdamOptions, "amsgrad" | "epsilonHat" | "epsilonRoot">> = {
  amsgrad: withDefault(false, truth),
  epsilonHat: withDefault(false, truth),
  epsilonRoot: withDefault(0, hyperparameter({ from: 0 })),
};
/** Of Adam and its relatives. */
export const BETAS: DefaultedOptions<Pick<ScaleByAdamOptions, "beta1" | "beta2" | "epsilon">> = {
  beta1: withDefault(0.9, averageFactor),
  beta2: withDefault(0.999, averageFactor),
  epsilon: withDefault(1e-8, positiveEpsilon),
};
export const SCALE_BY_ADAM: DefaultedOptions<ScaleByAdamOptions> = { ...BETAS, ...LATER };
export const ADAM_ELSEWHERE = { betas: "did you mean beta1 and beta2?" };

/**
 * The direction of Adam without its learning rate: m̂ / (√v̂ + ε), of the moments with their bias corrected (Kingma & Ba,
 * arXiv 1412.6980, algorithm 1). Steps are those that were applied.
 */
export function scaleByAdam(options: ScaleByAdamOptions = {}): GradientTransformation<AdamState> {
  return adamPart(readOptions("scaleByAdam", options, SCALE_BY_ADAM, { elsewhere: ADAM_ELSEWHERE }));
}

/** Of options that have been read. */
export function adamPart(settings: Required<ScaleByAdamOptions>): GradientTransformation<AdamState> {
  const { beta1, beta2, epsilon, amsgrad, epsilonHat, epsilonRoot } = settings;
  return direction("scaleByAdam", withoutDefaults(settings, LATER), {
    init: (parameters) => ({
      mean: zerosLike(parameters),
      square: zerosLike(parameters),
      ...(amsgrad ? { maximum: zerosLike(parameters) } : {}),
    }),
    update: (gradients, state, _parameters, context) => {
      const mean = average(state.mean, gradients, beta1);
      const squares = average(state.square, mapTensors(square, gradients), beta2);
      const t = stepNumber(context);
      const [c1, c2] = [biasCorrection(beta1, t), sqrt(biasCorrection(beta2, t))];
      // m/c1 / (√v/√c2 + ε) with the scalar factors combined: m · (√c2/c1) / (√v + ε·√c2).
      const factor = div(c2, c1);
      const floor = epsilonHat ? epsilon : mul(c2, epsilon);
      const largest = amsgrad ? mapTensors(maximum, state.maximum ?? {}, squares) : squares;
      const underRoot =
        epsilonRoot === 0 ? largest : mapTensors((v) => add(v, mul(mul(c2, c2), epsilonRoot)), largest);
      const updates = mapTensors((m, v) => mul(div(m, add(sqrt(v), floor)), factor), mean, underRoot);
      return { updates, state: { mean, square: squares, ...(amsgrad ? { maximum: largest } : {}) } };
    },
  });
}
