import type { OpOf } from "@mp/core/graph";
import { layerNormalization, logSoftmax, rmsNormalization, softmax } from "@mp/core/ops";
import { type GradientRows, positive, sample, spread } from "../gradient-sample.js";
import { of1, of2, of3 } from "./of-operands.js";

export const normalizationGradients: GradientRows<OpOf<"normalization">> = {
  Softmax: [
    sample(
      "rows",
      of1((x) => softmax(x)),
      spread([3, 5]),
    ),
    sample(
      "columns",
      of1((x) => softmax(x, 0)),
      spread([3, 5]),
    ),
  ],
  LogSoftmax: [
    sample(
      "rows",
      of1((x) => logSoftmax(x)),
      spread([3, 5]),
    ),
  ],
  LayerNormalization: [
    sample(
      "scale-and-bias",
      of3((x, s, b) => layerNormalization(x, s, b)),
      spread([3, 5]),
      positive([5], 1),
      spread([5], 2),
    ),
    sample(
      "two-axes",
      of2((x, s) => layerNormalization(x, s, undefined, { axis: 1 })),
      spread([2, 2, 3]),
      positive([2, 3], 1),
    ),
  ],
  RMSNormalization: [
    sample(
      "scale",
      of2((x, s) => rmsNormalization(x, s)),
      spread([3, 5]),
      positive([5], 1),
    ),
  ],
};
