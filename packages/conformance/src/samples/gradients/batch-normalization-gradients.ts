import type { Tensor } from "@mp/core";
import type { OpOf } from "@mp/core/graph";
import { add, batchNormalization, mul, reshape } from "@mp/core/ops";
import { type GradientRows, positive, sample, spread } from "../gradient-sample.js";
import { of3 } from "./of-operands.js";

const normalizedChannels = (x: Tensor, scale: Tensor, bias: Tensor): Tensor =>
  batchNormalization(x, scale, bias).y;

export const batchNormalizationGradients: GradientRows<OpOf<"batch-normalization">> = {
  BatchNormalization: [
    sample("channels", of3(normalizedChannels), spread([4, 3, 2, 2]), positive([3], 1), spread([3], 2)),
    sample("rows", of3(normalizedChannels), spread([6, 4]), positive([4], 1), spread([4], 2)),
    sample("a-batch-of-one", of3(normalizedChannels), spread([1, 2, 5]), positive([2], 1), spread([2], 2)),
    sample(
      "its-statistics-too",
      of3((x, s, b) => {
        const { y, mean, variance } = batchNormalization(x, s, b);
        return add(y, reshape(add(mul(mean, 2), variance), [2, 1]));
      }),
      spread([3, 2, 4]),
      positive([2], 1),
      spread([2], 2),
    ),
  ],
  BatchNormalizationGradient: { none: "is the gradient of BatchNormalization, and tried there" },
};
