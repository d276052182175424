import type { HostTensor, Shape } from "@mp/core";
import type { OpAttributes, OpOf } from "@mp/core/graph";
import { generated, hostData, randomData } from "../host-data.js";
import type { RandomSource } from "../random-source.js";
import { INFINITE } from "./normalization-samples.js";
import { type OpRow, type OpRows, type OpSample, positives } from "./op-sample.js";

const labels = (random: RandomSource, classes: number, shape: Shape): HostTensor =>
  generated("i32", shape, () => random.integer(0, classes - 1));

/** The second op takes log-probabilities: any negative numbers are accepted. */
function loss<K extends OpOf<"loss">>(low: number, high: number): OpRow<K> {
  return {
    samples: (dtype, random) => {
      const one = (
        attributes: OpAttributes[OpOf<"loss">],
        scores: Shape,
        { weighted = false, given }: { readonly weighted?: boolean; readonly given?: readonly number[] } = {},
      ): OpSample<K> => {
        const [batch = 0, classes = 0, ...rest] = scores;
        const shape = [batch, ...rest];
        const picked = given === undefined ? labels(random, classes, shape) : hostData("i32", given, shape);
        const weights = weighted ? [positives(random, dtype, [classes])] : [];
        return {
          attributes: attributes as OpAttributes[K],
          inputs: [randomData(random, dtype, scores, low, high), picked, ...weights],
        };
      };
      const reductions = ["mean", "sum", "none"] as const;
      return {
        values: reductions.flatMap((reduction) => [
          one({ reduction }, [4, 5]),
          one({ reduction }, [4, 5], { weighted: true }),
          one({ reduction }, [2, 3, 4]),
          one({ reduction }, [2, 3, 2, 2], { weighted: true }),
          one({ reduction }, [1, 1]),
        ]),
        "ignored-labels": reductions.flatMap((reduction) => [
          one({ reduction, ignoreIndex: 2 }, [5, 4], { given: [0, 2, 3, 2, 1] }),
          one({ reduction, ignoreIndex: 2 }, [5, 4], { given: [0, 2, 3, 2, 1], weighted: true }),
          // An ignored label outside the classes, as text models use for padding.
          one({ reduction, ignoreIndex: -100 }, [5, 4], { given: [0, -100, 3, -100, 1] }),
        ]),
        "all-labels-ignored": reductions.map((reduction) =>
          one({ reduction, ignoreIndex: 1 }, [3, 2], { given: [1, 1, 1] }),
        ),
        "no-labels": reductions.flatMap((reduction) => [
          one({ reduction }, [0, 3]),
          one({ reduction }, [0, 3], { weighted: true }),
          one({ reduction, ignoreIndex: 1 }, [0, 3, 2]),
          one({ reduction }, [2, 3, 0]),
        ]),
        "non-finite-scores": [
          {
            attributes: { reduction: "none" } as OpAttributes[K],
            inputs: [
              hostData(dtype, [0, Number.NaN, 0, 0, -1, -2, -3, -1, -INFINITE], [3, 3]),
              hostData("i32", [0, 1, 0]),
            ],
          },
        ],
      };
    },
  };
}

export const lossSamples: OpRows<OpOf<"loss">> = {
  SoftmaxCrossEntropyLoss: loss(-4, 4),
  NegativeLogLikelihoodLoss: loss(-4, -0.1),
};
