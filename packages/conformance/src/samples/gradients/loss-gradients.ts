import type { OpOf } from "@mp/core/graph";
import { negativeLogLikelihoodLoss, softmaxCrossEntropyLoss } from "@mp/core/ops";
import { type GradientRows, indices, sample, spread } from "../gradient-sample.js";
import { of1 } from "./of-operands.js";

export const lossGradients: GradientRows<OpOf<"loss">> = {
  SoftmaxCrossEntropyLoss: [
    sample(
      "mean",
      of1((x) => softmaxCrossEntropyLoss(x, indices([1, 4, 0]))),
      spread([3, 5]),
    ),
    sample(
      "ignored-labels",
      of1((x) => softmaxCrossEntropyLoss(x, indices([1, -100, 0]), { ignoreIndex: -100 })),
      spread([3, 5]),
    ),
    sample(
      "unreduced",
      of1((x) => softmaxCrossEntropyLoss(x, indices([1, 0, 2, 2], [2, 2]), { reduction: "none" })),
      spread([2, 3, 2]),
    ),
    sample(
      "ignored-labels-of-images",
      of1((x) =>
        softmaxCrossEntropyLoss(x, indices([1, -1, 2, 2, 0, -1, 1, 1], [2, 2, 2]), { ignoreIndex: -1 }),
      ),
      spread([2, 3, 2, 2]),
    ),
  ],
  NegativeLogLikelihoodLoss: [
    sample(
      "mean",
      of1((x) => negativeLogLikelihoodLoss(x, indices([1, 4, 0]))),
      spread([3, 5]),
    ),
    sample(
      "sum",
      of1((x) => negativeLogLikelihoodLoss(x, indices([1, 4, 0]), { reduction: "sum" })),
      spread([3, 5]),
    ),
    sample(
      "of-images",
      of1((x) => negativeLogLikelihoodLoss(x, indices([1, 0, 2, 2, 0, 0, 1, 1], [2, 2, 2]))),
      spread([2, 3, 2, 2]),
    ),
    sample(
      "ignored-labels-of-images",
      of1((x) =>
        negativeLogLikelihoodLoss(x, indices([1, -1, 2, 2, 0, -1, 1, 1], [2, 2, 2]), { ignoreIndex: -1 }),
      ),
      spread([2, 3, 2, 2]),
    ),
  ],
};
