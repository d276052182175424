/** Losses, and normalization of data small enough for the epsilon to count. */
import type { DType, HostTensor, Shape } from "@mp/core";
import type { OpOf } from "@mp/core/graph";
import { generated, randomData } from "../../host-data.js";
import type { RandomSource } from "../../random-source.js";
import { statisticsOf } from "../batch-normalization-samples.js";
import { positives, sample } from "../op-sample.js";
import { type OptionRow, type OptionRows, setting } from "./setting.js";

const EPSILONS = [1e-3, 0.1, 1, 1e-5];
const small = (random: RandomSource, dtype: DType, shape: Shape): HostTensor =>
  randomData(random, dtype, shape, -0.05, 0.05);

const SCORES: readonly Shape[] = [[6, 5], [4, 5, 3], [2, 5, 3, 2], [2, 5, 2, 1, 3]]; // biome-ignore format: one line

/** The ignored label is any class, the first among them, or none. */
function loss<K extends OpOf<"loss">>(op: K, low: number, high: number): OptionRow<K> {
  return {
    settings: (dtype) => [
      setting<OpOf<"loss">, { readonly scores: readonly Shape[]; readonly weighted: readonly boolean[] }>(
        op,
        { reduction: ["mean", "sum", "none"], ignoreIndex: [undefined, 0, 1, 4, -100, -1, 5] },
        { scores: SCORES, weighted: [false, true] },
        (attributes, { scores, weighted }, random) => {
          const [batch = 1, classes = 1, ...rest] = scores;
          const { ignoreIndex = 0 } = attributes;
          const labels = generated("i32", [batch, ...rest], (at) =>
            at % 3 === 1 ? ignoreIndex : random.integer(0, classes - 1),
          );
          // Sums of weighted likelihoods are exact in any order.
          const weights = weighted ? [generated(dtype, [classes], () => 2 ** random.integer(-1, 2))] : [];
          return sample<OpOf<"loss">>(
            attributes,
            generated(dtype, scores, () => random.integer(8 * low, 8 * high) / 8),
            labels,
            ...weights,
          );
        },
      ) as never,
    ],
  };
}

export const normalizationOptions: OptionRows<
  OpOf<"loss" | "batch-normalization"> | "LayerNormalization" | "RMSNormalization"
> = {
  SoftmaxCrossEntropyLoss: loss("SoftmaxCrossEntropyLoss", -4, 4),
  NegativeLogLikelihoodLoss: loss("NegativeLogLikelihoodLoss", -4, -1),
  LayerNormalization: {
    settings: (dtype) => [
      setting(
        "LayerNormalization",
        { axis: [1, 0, 2, 3], epsilon: EPSILONS },
        { bias: [false, true] },
        (attributes, { bias }, random) => {
          const shape = [2, 3, 4, 5];
          const part = shape.slice(attributes.axis);
          return sample(
            attributes,
            small(random, dtype, shape),
            positives(random, dtype, part),
            ...(bias ? [positives(random, dtype, part)] : []),
          );
        },
      ),
    ],
  },
  RMSNormalization: {
    settings: (dtype) => [
      setting("RMSNormalization", { axis: [1, 0, 2, 3], epsilon: EPSILONS }, {}, (attributes, _, random) => {
        const shape = [2, 3, 4, 5];
        return sample(
          attributes,
          small(random, dtype, shape),
          positives(random, dtype, shape.slice(attributes.axis)),
        );
      }),
    ],
  },
  BatchNormalization: {
    settings: (dtype) => [
      setting(
        "BatchNormalization",
        { epsilon: EPSILONS },
        { own: dtype === "f32" ? [false] : [false, true] },
        (attributes, { own }, random) => {
          const of = own ? dtype : "f32";
          return sample(
            attributes,
            small(random, dtype, [4, 3, 5]),
            positives(random, of, [3]),
            positives(random, of, [3]),
          );
        },
      ),
    ],
  },
  BatchNormalizationGradient: {
    settings: (dtype) => [
      setting("BatchNormalizationGradient", { epsilon: EPSILONS }, {}, (attributes, _, random) => {
        const x = small(random, dtype, [4, 3, 5]);
        return sample(
          attributes,
          small(random, dtype, x.shape),
          x,
          positives(random, "f32", [3]),
          ...statisticsOf(x),
        );
      }),
    ],
  },
};
