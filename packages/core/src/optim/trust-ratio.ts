import { mapTensors, type Tensor } from "@mp/graph";
import { type DefaultedOptions, described, readOptions, withDefault } from "@mp/graph/internal";
import { add, div, equal, literal, mul, or, where } from "@mp/graph/ops";
import { globalNorm } from "./global-norm.js";
import { hyperparameter } from "./hyperparameter.js";
import type { GradientTransformation } from "./optimizer.js";
import { scaleUpdates } from "./transformation.js";

export interface TrustRatioOptions {
  /** Default 1. */
  readonly trustCoefficient?: number;
  /** Added to the norm of the direction; default 0. */
  readonly epsilon?: number;
}

export const TRUST_RATIO: DefaultedOptions<TrustRatioOptions> = {
  trustCoefficient: withDefault(1, hyperparameter({ from: 0, open: true })),
  epsilon: withDefault(0, hyperparameter({ from: 0 })),
};

/**
 * Scales the direction of each parameter to that parameter's norm: by c·‖w‖ / (‖d‖ + ε), or by 1 if a norm is 0
 * (You et al., arXiv 1708.03888 and 1904.00962). Norms are of whole parameters; a norm above 1.8e19 overflows and
 * the step is skipped. Biases and normalizations are usually left out, by `byPath` and `biasesAndNorms`.
 */
export function scaleByTrustRatio(options: TrustRatioOptions = {}): GradientTransformation {
  const settings = readOptions("scaleByTrustRatio", options, TRUST_RATIO);
  const { trustCoefficient, epsilon } = settings;
  return scaleUpdates(described("scaleByTrustRatio", settings), "leaf", (directions, parameters) => {
    const rates: Tensor[] = [];
    const updates = mapTensors(
      (d, w) => {
        const [size, length] = [globalNorm(w), globalNorm(d)];
        rates.push(length);
        const ratio = div(mul(size, trustCoefficient), add(length, epsilon));
        return mul(d, where(or(equal(size, 0), equal(length, 0)), literal(1), ratio));
      },
      directions,
      parameters,
    );
    return { updates, rates };
  });
}
