import { mapTensors, type Tensor, type TensorTree } from "@mp/graph";
import {
  checks,
  type DefaultedOptions,
  invalid,
  readOptions,
  withDefault,
  withoutDefaults,
} from "@mp/graph/internal";
import { add, div, literal, maximum, mul, sign, sqrt, sub } from "@mp/graph/ops";
import { averageFactor, hyperparameter } from "./hyperparameter.js";
import { average, biasCorrection, positiveEpsilon, square, stepNumber } from "./moments.js";
import { fillLike, type GradientTransformation, zerosLike } from "./optimizer.js";
import { type StateOptions, stateOptions } from "./states/state-options.js";
import { direction } from "./transformation.js";

export interface ScaleByAdamOptions extends StateOptions<keyof typeof SLOTS> {
  /** Default 0.9. */
  readonly beta1?: number;
  /** Default 0.999. */
  readonly beta2?: number;
  /** Added to √v, in the unit of the gradients; f32 under any policy, at least 2^-100. Default 1e-8. */
  readonly epsilon?: number;
  /**
   * Divide by the largest second moment so far (Reddi et al., arXiv 1904.09237). True takes the maximum before bias
   * correction, as PyTorch and Keras do; `corrected` takes it after, as optax does. Default false.
   */
  readonly amsgrad?: boolean | "corrected";
  /**
   * Add epsilon to √v before bias correction, as Keras does: the ε̂ of the paper's section 2. Default false: after
   * bias correction, as PyTorch and optax do.
   */
  readonly epsilonHat?: boolean;
  /**
   * Added to v under the root after bias correction or, with `belief`, to v itself in every step; `eps_root` of
   * optax. Default 0.
   */
  readonly epsilonRoot?: number;
  /**
   * Kind of the second moment: `adam` is an average of g²; `belief` an average of (g - m)² (AdaBelief, arXiv
   * 2010.07468); `yogi` is v - (1-β₂)·sign(v - g²)·g² (Yogi, Zaheer et al. 2018). Default `adam`.
   */
  readonly secondMoment?: SecondMoment;
  /** Initial value of both moments; default 0. Yogi's paper has 1e-6. */
  readonly initialAccumulator?: number;
}

const SLOTS = { mean: "both", square: "nonNegative", maximum: "nonNegative" } as const;

type SecondMoment = "adam" | "belief" | "yogi";

/** State of Adam; `maximum` only with `amsgrad`. */
export type AdamState = {
  readonly mean: TensorTree;
  readonly square: TensorTree;
  readonly maximum?: TensorTree;
};

/** Options that the oldest checkpoints lack: the optimizer's description omits them at their defaults. */
export const LATER: DefaultedOptions<Omit<ScaleByAdamOptions, "beta1" | "beta2" | "epsilon">> = {
  ...stateOptions(SLOTS),
  amsgrad: withDefault(false, checks.oneOf(false, true, "corrected")),
  epsilonHat: withDefault(false, checks.truth),
  epsilonRoot: withDefault(0, hyperparameter({ from: 0 })),
  secondMoment: withDefault("adam", checks.oneOf("adam", "belief", "yogi")),
  initialAccumulator: withDefault(0, hyperparameter({ from: 0 })),
};
export const BETAS: DefaultedOptions<Pick<ScaleByAdamOptions, "beta1" | "beta2" | "epsilon">> = {
  beta1: withDefault(0.9, averageFactor),
  beta2: withDefault(0.999, averageFactor),
  epsilon: withDefault(1e-8, positiveEpsilon),
};
export const SCALE_BY_ADAM: DefaultedOptions<ScaleByAdamOptions> = { ...BETAS, ...LATER };
export const ADAM_ELSEWHERE = { betas: "did you mean beta1 and beta2?" };

/**
 * The direction of Adam without its learning rate: m̂ / (√v̂ + ε), from bias-corrected moments (Kingma & Ba, arXiv
 * 1412.6980, algorithm 1). Bias correction counts applied steps only.
 */
export function scaleByAdam(options: ScaleByAdamOptions = {}): GradientTransformation<AdamState> {
  return adamPart(readOptions("scaleByAdam", options, SCALE_BY_ADAM, { elsewhere: ADAM_ELSEWHERE }));
}

/** Makes the transformation from checked options with all defaults filled in. */
export function adamPart(settings: Required<ScaleByAdamOptions>): GradientTransformation<AdamState> {
  const { beta1, beta2, epsilon, amsgrad, epsilonHat, epsilonRoot, secondMoment, initialAccumulator } =
    settings;
  const isCorrected = amsgrad === "corrected";
  if (isCorrected && epsilonHat) {
    throw invalid('adam: amsgrad "corrected" takes no epsilonHat');
  }
  return direction("scaleByAdam", withoutDefaults(settings, LATER), {
    slots: SLOTS,
    init: (parameters) => ({
      mean: fillLike(parameters, initialAccumulator),
      square: fillLike(parameters, initialAccumulator),
      ...(amsgrad ? { maximum: zerosLike(parameters) } : {}),
    }),
    update: (gradients, state, _parameters, context) => {
      const mean = average(state.mean, gradients, beta1);
      const squares = secondMoments(settings, gradients, state.square, mean);
      const t = stepNumber(context);
      const correction = biasCorrection(beta2, t);
      const [c1, c2] = [biasCorrection(beta1, t), isCorrected ? literal(1) : sqrt(correction)];
      // m/c1 / (√v/√c2 + ε) with the scalar factors combined: m · (√c2/c1) / (√v + ε·√c2).
      const factor = div(c2, c1);
      const floor = epsilonHat ? epsilon : mul(c2, epsilon);
      const compareMost = (most: Tensor, v: Tensor): Tensor =>
        maximum(most, isCorrected ? div(v, correction) : v);
      const largest = amsgrad ? mapTensors(compareMost, state.maximum ?? {}, squares) : squares;
      const underRoot = (v: Tensor): Tensor =>
        epsilonRoot === 0 || secondMoment === "belief" ? v : add(v, mul(mul(c2, c2), epsilonRoot));
      const updates = mapTensors(
        (m, v) => mul(div(m, add(sqrt(underRoot(v)), floor)), factor),
        mean,
        largest,
      );
      return {
        updates,
        state: { mean, square: squares, ...(amsgrad ? { maximum: largest } : {}) },
      };
    },
  });
}

/** The second moments after this step, before bias correction. */
function secondMoments(
  { beta2, epsilonRoot, secondMoment }: Required<ScaleByAdamOptions>,
  gradients: TensorTree,
  before: TensorTree,
  mean: TensorTree,
): TensorTree {
  const isBelief = secondMoment === "belief";
  const squares = mapTensors((g, m) => square(isBelief ? sub(g, m) : g), gradients, mean);
  if (secondMoment === "yogi") {
    return mapTensors((v, x) => sub(v, mul(mul(sign(sub(v, x)), x), 1 - beta2)), before, squares);
  }
  const averages = average(before, squares, beta2);
  return isBelief ? mapTensors((v) => add(v, epsilonRoot), averages) : averages;
}
