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
import { expectTensor } from "./check-tensor.js";

/**
 * Cross entropy of logits [..., classes] against labels i32 [...], the mean over all labels that count.
 * Computed in f32 through log-softmax, whatever the policy.
 * @throws MP_INVALID_ARGUMENT for what is no tensor; MP_SHAPE_MISMATCH when labels are not the logits' shape without the last axis
 */
export function softmaxCrossEntropy(logits: Tensor, labels: Tensor, options: LikelihoodOptions = {}): Tensor {
  expectTensor("softmaxCrossEntropy: logits", logits);
  expectTensor("softmaxCrossEntropy: labels", labels);
  const classes = logits.shape.at(-1);
  if (classes === undefined || logits.shape.slice(0, -1).join() !== labels.shape.join()) {
    throw new MpError(
      "MP_SHAPE_MISMATCH",
      `softmaxCrossEntropy: logits [${logits.shape.join(", ")}] take labels [${logits.shape.slice(0, -1).join(", ")}], got [${labels.shape.join(", ")}]`,
    );
  }
  return softmaxCrossEntropyLoss(reshape(logits, [-1, classes]), reshape(labels, [-1]), options);
}

/**
 * Mean of (prediction - target)² over all elements, in f32. Nothing is broadcast: [n] against [n, 1] would be n²
 * differences, and train to something else.
 * @throws MP_INVALID_ARGUMENT for what is no tensor, MP_SHAPE_MISMATCH for shapes that differ
 */
export function meanSquaredError(prediction: Tensor, target: Tensor): Tensor {
  expectTensor("meanSquaredError: prediction", prediction);
  expectTensor("meanSquaredError: target", target);
  if (prediction.shape.join() !== target.shape.join()) {
    throw new MpError(
      "MP_SHAPE_MISMATCH",
      `meanSquaredError: prediction [${prediction.shape.join(", ")}] and target [${target.shape.join(", ")}] differ in shape; reshape one of them`,
    );
  }
  const difference = sub(prediction, target);
  return reduceMean(mul(difference, difference));
}
