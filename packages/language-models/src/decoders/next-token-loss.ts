import type { Tensor } from "@mp/core";
import { slice } from "@mp/core/ops";
import { softmaxCrossEntropy } from "@mp/nn";
import { mismatch } from "@mp/nn/internal";

/** The label of tokens that do not count, as in transformers. */
const IGNORED = -100;

/**
 * The mean cross entropy of next tokens, in f32, as transformers computes it from `labels`: logits [batch,
 * time, vocabulary] at each position against the label, i32 [batch, time], of the next position. Labels of
 * -100 are ignored.
 * @throws MP_SHAPE_MISMATCH for fewer than two positions, or labels of another shape
 */
export function nextTokenLoss(logits: Tensor, labels: Tensor): Tensor {
  const time = labels.shape[1] ?? 0;
  if (labels.shape.length !== 2 || time < 2 || logits.shape[1] !== time)
    throw mismatch(
      `nextTokenLoss: labels must be [batch, time] of the logits [batch, time, vocabulary], with a time of 2 or more, got [${labels.shape.join(", ")}] and [${logits.shape.join(", ")}]`,
    );
  return softmaxCrossEntropy(
    slice(logits, [{ axis: 1, end: time - 1 }]),
    slice(labels, [{ axis: 1, start: 1 }]),
    { ignoreIndex: IGNORED },
  );
}
