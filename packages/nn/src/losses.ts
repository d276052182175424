import {
  type LikelihoodOptions,
  MpError,
  mul,
  reduceMean,
  reshape,
  softmaxCrossEntropyLoss,
  sub,
  type Tensor,
} from "@mp/core";

/**
 * Cross entropy of logits [..., classes] against labels i32 [...], the mean over all labels that count.
 * Computed in f32 through log-softmax, whatever the policy.
 * @throws MP_SHAPE_MISMATCH when labels are not the logits' shape without the last axis
 */
export function softmaxCrossEntropy(logits: Tensor, labels: Tensor, options: LikelihoodOptions = {}): Tensor {
  const classes = logits.shape.at(-1);
  if (classes === undefined || logits.shape.slice(0, -1).join() !== labels.shape.join()) {
    throw new MpError(
      "MP_SHAPE_MISMATCH",
      `softmaxCrossEntropy: logits [${logits.shape.join(", ")}] take labels [${logits.shape.slice(0, -1).join(", ")}], got [${labels.shape.join(", ")}]`,
    );
  }
  return softmaxCrossEntropyLoss(reshape(logits, [-1, classes]), reshape(labels, [-1]), options);
}

/** Mean of (prediction - target)² over all elements, in f32. */
export function meanSquaredError(prediction: Tensor, target: Tensor): Tensor {
  const difference = sub(prediction, target);
  return reduceMean(mul(difference, difference));
}
