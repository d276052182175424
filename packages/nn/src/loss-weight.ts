import { autocast, castingPolicy, isTensor, type Tensor } from "@mp/core";
import { shown, withUnevenMean } from "@mp/graph/internal";
import { invalid } from "./errors.js";

const IN_F32 = castingPolicy({ compute: "f32" });
const weights = new WeakMap<Tensor, () => Tensor>();

/** The weight of a mean, and whether its elements or labels may have unequal weights. */
export interface MeanOf {
  readonly isUneven: boolean;
  /** Computes the divisor of the mean, a scalar. */
  readonly weight: () => Tensor;
}

/** Makes a mean whose weight `lossWeight` knows. Marks uneven means; the trainer warns if it averages several. */
export function weighedMean({ isUneven, weight }: MeanOf, mean: () => Tensor): Tensor {
  const made = isUneven ? withUnevenMean(mean) : mean();
  weights.set(made, weight);
  return made;
}

/**
 * The weight of a mean that a loss of this package returned, for `{ loss, weight: lossWeight(loss) }`: the number of
 * its labels or elements, or their total weight with `ignoreIndex`, `sampleWeights` or class `weights`. An f32 scalar,
 * computed in f32 under any policy.
 * @throws MP_INVALID_ARGUMENT for another tensor, such as a sum, or one that was computed from the mean
 */
export function lossWeight(mean: Tensor): Tensor {
  const weight = isTensor(mean) ? weights.get(mean) : undefined;
  if (weight !== undefined) return autocast(weight, IN_F32)();
  throw invalid(
    `lossWeight: must get the mean that a loss of @mp/nn returned, as it is and in the same function, got ${isTensor(mean) ? mean : shown(mean)}; what is computed from a mean has its weight`,
  );
}
