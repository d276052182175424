/** Likelihood losses. */
import type { LossReduction, Op, OpAttributes } from "../../graph/attributes.js";
import { checkOptions, type OptionNames } from "../../options.js";
import { emit, emitAll } from "../emit.js";
import type { Tensor } from "../tensor.js";

/** Options of `softmaxCrossEntropyLoss` and `negativeLogLikelihoodLoss`. */
export interface LikelihoodOptions {
  /** `mean` (default) divides by the total weight of the labels that are not ignored. */
  readonly reduction?: LossReduction;
  /** Labels of this value are ignored; default none. */
  readonly ignoreIndex?: number;
  /** One weight per class, [C]; default all 1. */
  readonly weights?: Tensor;
}

const LIKELIHOOD: OptionNames<LikelihoodOptions> = { reduction: true, ignoreIndex: true, weights: true };

/** Makes the operands and attributes of either loss from its options. */
function readLikelihood(
  op: Op,
  scores: Tensor,
  labels: Tensor,
  options: LikelihoodOptions,
): readonly [operands: readonly Tensor[], attributes: OpAttributes["NegativeLogLikelihoodLoss"]] {
  checkOptions(op, options, LIKELIHOOD, '{ reduction: "sum" }');
  const { reduction = "mean", ignoreIndex, weights } = options;
  const operands = weights === undefined ? [scores, labels] : [scores, labels, weights];
  return [operands, ignoreIndex === undefined ? { reduction } : { reduction, ignoreIndex }];
}

/**
 * Cross entropy of scores [N, C, d…] and labels i32 [N, d…], computed by log-softmax, in f32 under any policy.
 * Returns a scalar for the reductions `mean` (default) and `sum`, [N, d…] for `none`. Ignores labels equal to
 * `ignoreIndex`.
 * @throws MP_SHAPE_MISMATCH, MP_DTYPE_MISMATCH
 */
export function softmaxCrossEntropyLoss(
  scores: Tensor,
  labels: Tensor,
  options: LikelihoodOptions = {},
): Tensor {
  const op = "SoftmaxCrossEntropyLoss";
  return emitAll(op, ...readLikelihood(op, scores, labels, options))[0] as Tensor;
}

/**
 * Negative log likelihood of log-probabilities [N, C, d…] at labels i32 [N, d…], with the reductions of
 * `softmaxCrossEntropyLoss`.
 * @throws MP_SHAPE_MISMATCH, MP_DTYPE_MISMATCH
 */
export function negativeLogLikelihoodLoss(
  scores: Tensor,
  labels: Tensor,
  options: LikelihoodOptions = {},
): Tensor {
  const op = "NegativeLogLikelihoodLoss";
  return emit(op, ...readLikelihood(op, scores, labels, options));
}
