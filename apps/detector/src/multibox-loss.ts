/**
 * SSD's loss is the sum of two losses, both divided by the number of matched anchors. One is the loss of the box
 * offsets over the anchors that match a box; the other is the loss of the class over these anchors and the hardest
 * negatives, three to one. The hardest negatives, those whose loss is at least the n-th largest of the image's
 * negatives, are found inside the graph.
 */
import type { Tensor } from "@mp/core";
import {
  add,
  and,
  cast,
  clip,
  div,
  equal,
  gatherElements,
  greater,
  greaterOrEqual,
  maximum,
  mul,
  or,
  reduceSum,
  reshape,
  stopGradient,
  sub,
  topK,
  where,
} from "@mp/core/ops";
import { smoothL1, softmaxCrossEntropy } from "@mp/nn";
import { BACKGROUND, IGNORED } from "./boxes/match.js";
import type { Predictions } from "./model.js";

/** Number of negative anchors that count for each matched anchor. */
const NEGATIVES = 3;
/** Largest number of negatives as a fraction of the anchors; no image has enough boxes to need more. */
const MOST_NEGATIVES = 1 / 4;

/** @param labels i32 [batch, anchors] @param offsets f32 [batch, anchors, 4], 0 where there is no box */
export function multiboxLoss(
  predicted: Predictions,
  { labels, offsets }: { readonly labels: Tensor; readonly offsets: Tensor },
): Tensor {
  const [batch = 1, anchors = 1] = labels.shape;
  const positive = greater(labels, BACKGROUND);
  const negative = equal(labels, BACKGROUND);
  const each = softmaxCrossEntropy(predicted.scores, labels, { reduction: "none", ignoreIndex: IGNORED });
  const entropy = reshape(each, [batch, anchors]);
  const hardest = selectHardest(stopGradient(entropy), positive, negative);
  const counted = or(positive, hardest);
  const classes = reduceSum(where(counted, entropy, 0));
  const held = reshape(positive, [batch, anchors, 1]);
  // Both are 0 where there is no box.
  const places = smoothL1(where(held, predicted.offsets, 0), offsets, { reduction: "sum" });
  return div(add(classes, places), maximum(reduceSum(cast(positive, "f32")), 1));
}

/** Whether each negative anchor [batch, anchors] is among the hardest of its image. */
function selectHardest(entropy: Tensor, positive: Tensor, negative: Tensor): Tensor {
  const [, anchors = 1] = entropy.shape;
  const most = Math.max(1, Math.floor(anchors * MOST_NEGATIVES));
  const { values } = topK(where(negative, entropy, -1), most);
  const wanted = mul(reduceSum(cast(positive, "f32"), { axes: [1], keepdims: true }), NEGATIVES);
  // An image without a box counts with its single hardest anchor.
  const last = sub(clip(wanted, { min: 1, max: most }), 1);
  const threshold = gatherElements(values, cast(last, "i32"), 1);
  return and(negative, greaterOrEqual(entropy, threshold));
}
