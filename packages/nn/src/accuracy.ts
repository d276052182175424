import type { Tensor } from "@mp/core";
import { argMax, cast, equal, reduceMean, reduceSum, topK, unsqueeze } from "@mp/core/ops";
import { expectLabels } from "./check-tensor.js";
import { invalid } from "./errors.js";

/**
 * Fraction of labels i32 or i64 [...] whose logit is the largest among [..., classes], as an f32 scalar; of
 * equal logits the first counts.
 * @throws MP_INVALID_ARGUMENT for a value that is not a tensor, MP_SHAPE_MISMATCH if the shapes do not match
 */
export function accuracy(logits: Tensor, labels: Tensor): Tensor {
  const classOf = readLabels("accuracy", logits, labels);
  return reduceMean(cast(equal(argMax(logits), classOf), "f32"));
}

/**
 * Fraction of labels whose logit is among the k largest, as an f32 scalar.
 * @throws as `accuracy`, MP_INVALID_ARGUMENT for a k that is not from 1 to the number of classes
 */
export function topKAccuracy(logits: Tensor, labels: Tensor, k: number): Tensor {
  const classOf = readLabels("topKAccuracy", logits, labels);
  const classes = logits.shape.at(-1) ?? 0;
  if (!Number.isSafeInteger(k) || k < 1 || k > classes) {
    throw invalid(`topKAccuracy: k must be an integer from 1 to ${classes}, got ${k}`);
  }
  const isFound = equal(topK(logits, k).indices, unsqueeze(classOf, [-1]));
  return reduceMean(reduceSum(cast(isFound, "f32"), { axes: [-1] }));
}

function readLabels(what: string, logits: Tensor, labels: Tensor): Tensor {
  expectLabels(what, logits, labels);
  return labels.dtype === "i64" ? cast(labels, "i32") : labels;
}
