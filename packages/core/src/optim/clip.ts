import { mapTensors, type Tensor } from "@mp/graph";
import { type Check, invalid, shown } from "@mp/graph/internal";
import { clip, div, literal, maximum, mul } from "@mp/graph/ops";
import { globalNorm } from "./global-norm.js";
import { checkHyperparameter } from "./hyperparameter.js";
import type { GradientTransformation } from "./optimizer.js";
import { stateless } from "./transformation.js";

/**
 * The smallest limit for which limit / norm and its square are normal f32 numbers, for every norm whose
 * square is finite in f32.
 */
const SMALLEST_NORM = 2 ** -40;

/** Checks that a limit is a norm that f32 can divide by. */
export const normLimit: Check = (what, limit) => {
  if (typeof limit === "number" && limit >= SMALLEST_NORM && Number.isFinite(Math.fround(limit))) return;
  throw invalid(
    `${what} must be a number ≥ 2^-40, finite in f32, got ${shown(limit)}; leave it out for no clipping`,
  );
};

/** The factor that limits gradients to a norm: 1 if `norm` ≤ `limit`, else limit / norm. */
export function clipFactor(norm: Tensor, limit: number): Tensor {
  return div(literal(limit), maximum(norm, limit));
}

/**
 * Scales all gradients by one factor so that their global norm is at most `limit`, at least 2^-40 (Pascanu et al.,
 * arXiv 1211.5063). A norm above 1.8e19 overflows when squared. The step is then skipped, because the factor would make
 * every gradient 0.
 */
export function clipByGlobalNorm(limit: number): GradientTransformation {
  normLimit("clipByGlobalNorm: the limit", limit);
  return {
    kind: "gradient",
    name: `clipByGlobalNorm(${limit})`,
    init: () => ({}),
    update: (gradients, state) => {
      const norm = globalNorm(gradients);
      const factor = clipFactor(norm, limit);
      return { updates: mapTensors((g) => mul(g, factor), gradients), state, rates: [norm] };
    },
  };
}

/** Clips each element to -limit … limit. */
export function clipByValue(limit: number): GradientTransformation {
  checkHyperparameter("clipByValue: the limit", limit, { from: 0, open: true });
  return stateless(`clipByValue(${limit})`, "element", (gradients) =>
    mapTensors((g) => clip(g, { min: -limit, max: limit }), gradients),
  );
}
