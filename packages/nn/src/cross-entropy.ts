import type { Tensor } from "@mp/core";
import {
  add,
  cast,
  div,
  equal,
  gather,
  type LikelihoodOptions,
  literal,
  logSoftmax,
  mul,
  neg,
  not,
  reduceMean,
  reduceSum,
  reshape,
  softmaxCrossEntropyLoss,
  where,
} from "@mp/core/ops";
import { checks, readOptions, withDefault } from "@mp/graph/internal";
import { expectAlike, expectLabels } from "./check-tensor.js";
import { meanBy } from "./loss-reduction.js";
import { weighedMean } from "./loss-weight.js";
import { anything, reduction } from "./option-kinds.js";

export interface CrossEntropyOptions extends LikelihoodOptions {
  /**
   * Weights of the labels, float or bool, in the labels' shape; 0 for padding. The mean divides by the total
   * weight, class `weights` included, and is 0 if the total is 0. `none` multiplies each loss by its weight.
   */
  readonly sampleWeights?: Tensor;
  /** Fraction of each target that is spread over all classes (Szegedy et al. 2015), 0 … 1; default 0. */
  readonly labelSmoothing?: number;
}

const CROSS_ENTROPY = {
  labelSmoothing: withDefault(0, checks.share),
  reduction: checks.optional(reduction),
  sampleWeights: anything,
  // Core checks these two options together with the tensors.
  ignoreIndex: anything,
  weights: anything,
};

/**
 * Cross entropy of logits [..., classes] against labels i32 or i64 [...]: the mean over all labels that are not
 * ignored. The loss is computed in f32, through log-softmax, under any policy. `reduction: "none"` gives [n], one loss
 * for each label in row-major order.
 * @throws MP_INVALID_ARGUMENT for a value that is not a tensor, or a smoothing outside 0 … 1; MP_SHAPE_MISMATCH
 *   unless labels have the logits' shape without the last axis
 */
export function softmaxCrossEntropy(
  logits: Tensor,
  labels: Tensor,
  options: CrossEntropyOptions = {},
): Tensor {
  const { labelSmoothing } = readOptions("softmaxCrossEntropy", options, CROSS_ENTROPY, {
    example: "{ labelSmoothing: 0.1 }",
  });
  const classes = expectLabels("softmaxCrossEntropy", logits, labels);
  const { labelSmoothing: _, sampleWeights, ...likelihood } = options;
  const rows = reshape(logits, [-1, classes]);
  const classOf = reshape(labels.dtype === "i64" ? cast(labels, "i32") : labels, [-1]);
  const entropy = (by: LikelihoodOptions): Tensor =>
    labelSmoothing === 0
      ? softmaxCrossEntropyLoss(rows, classOf, by)
      : smoothEntropy(rows, classOf, by, labelSmoothing);
  const { reduction: kind = "mean", ignoreIndex, weights } = likelihood;
  const weight = (own?: Tensor): Tensor => {
    const ofLabels = labelWeights(classOf, countMask(classOf, ignoreIndex), weights);
    const both = own === undefined || ofLabels === undefined ? (own ?? ofLabels) : mul(own, ofLabels);
    return both === undefined ? literal(classOf.shape[0] ?? 1) : reduceSum(both);
  };
  if (sampleWeights === undefined) {
    if (kind !== "mean") return entropy(likelihood);
    const isUneven = ignoreIndex !== undefined || weights !== undefined;
    return weighedMean({ isUneven, weight }, () => entropy(likelihood));
  }
  expectAlike("softmaxCrossEntropy", { labels, sampleWeights });
  const own = reshape(cast(sampleWeights, "f32"), [-1]);
  const each = mul(entropy({ ...likelihood, reduction: "none" }), own);
  if (kind === "none") return each;
  const sum = reduceSum(each);
  if (kind === "sum") return sum;
  return weighedMean({ isUneven: true, weight: () => weight(own) }, () => meanBy(sum, weight(own)));
}

/** A bool mask of the labels that are not ignored; undefined without `ignoreIndex`. */
const countMask = (labels: Tensor, ignoreIndex: number | undefined): Tensor | undefined =>
  ignoreIndex === undefined ? undefined : not(equal(labels, ignoreIndex));

/**
 * (1 - s) · entropy of the label + s · mean entropy of all classes for smoothing s, weighted as in PyTorch.
 */
function smoothEntropy(
  logits: Tensor,
  labels: Tensor,
  options: LikelihoodOptions,
  smoothing: number,
): Tensor {
  const { reduction = "mean", ignoreIndex, weights } = options;
  const hard = softmaxCrossEntropyLoss(logits, labels, { ...options, reduction: "none" });
  const surprise = neg(logSoftmax(cast(logits, "f32")));
  const spread = reduceMean(weights === undefined ? surprise : mul(surprise, weights), { axes: [1] });
  const counts = countMask(labels, ignoreIndex);
  const soft = counts === undefined ? spread : where(counts, spread, 0);
  const each = add(mul(hard, 1 - smoothing), mul(soft, smoothing));
  if (reduction === "none") return each;
  const sum = reduceSum(each);
  if (reduction === "sum") return sum;
  const own = labelWeights(labels, counts, weights);
  return div(sum, own === undefined ? (labels.shape[0] ?? 1) : reduceSum(own));
}

/** The weight of each label: that of its class, or 0 if it is ignored; undefined if all weights are 1. */
function labelWeights(
  labels: Tensor,
  counts: Tensor | undefined,
  weights: Tensor | undefined,
): Tensor | undefined {
  if (weights === undefined) return counts === undefined ? undefined : cast(counts, "f32");
  // An ignored label need not be a valid class.
  const own = gather(cast(weights, "f32"), counts === undefined ? labels : where(counts, labels, 0));
  return counts === undefined ? own : where(counts, own, 0);
}
