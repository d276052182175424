/** Softmax, normalization and the likelihood losses. */
import type { DType, HostTensor, Shape } from "@mp/core";
import type { OpAttributes } from "@mp/core/graph";
import type { RandomSource } from "../random-source.js";
import { generated, hostData, randomData } from "./host-data.js";
import { type OpRow, type OpRows, type OpSample, positives } from "./op-sample.js";

const INFINITE = Number.POSITIVE_INFINITY;

function alongAxis<K extends "Softmax" | "LogSoftmax">(): OpRow<K> {
  return {
    samples: (dtype, random) => {
      const at = (axis: number, shape: Shape): OpSample<K> => ({
        attributes: { axis } as OpAttributes[K],
        inputs: [randomData(random, dtype, shape, -4, 4)],
      });
      const rows = (...data: readonly (readonly number[])[]): OpSample<K> => ({
        attributes: { axis: 1 } as OpAttributes[K],
        inputs: [hostData(dtype, data.flat(), [data.length, (data[0] ?? []).length])],
      });
      return {
        values: [
          at(0, [5]),
          at(1, [3, 7]),
          at(0, [3, 4]),
          at(1, [2, 3, 4]),
          at(2, [2, 3, 65]),
          at(0, [1]),
          at(1, [0, 3]),
        ],
        "nothing-overflows-on-the-way": [rows([1000, 1001, 999], [-1000, -1001, -1000], [60000, 0, -60000])],
        "masked-rows-and-nan": [
          rows([-INFINITE, 0, 1], [0, -INFINITE, -INFINITE], [0, Number.NaN, 1], [1, INFINITE, 0]),
          rows([-INFINITE, -INFINITE]),
        ],
      };
    },
  };
}

const labels = (random: RandomSource, classes: number, shape: Shape): HostTensor =>
  generated("i32", shape, () => random.integer(0, classes - 1));

type LossOp = "SoftmaxCrossEntropyLoss" | "NegativeLogLikelihoodLoss";

/** The second op takes log-probabilities: any negative numbers are accepted. */
function loss<K extends LossOp>(low: number, high: number): OpRow<K> {
  return {
    samples: (dtype, random) => {
      const one = (
        attributes: OpAttributes[LossOp],
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

export const normalizationSamples: OpRows<
  "Softmax" | "LogSoftmax" | LossOp | "LayerNormalization" | "RMSNormalization"
> = {
  Softmax: alongAxis(),
  LogSoftmax: alongAxis(),
  SoftmaxCrossEntropyLoss: loss(-4, 4),
  NegativeLogLikelihoodLoss: loss(-4, -0.1),
  LayerNormalization: {
    samples: (dtype, random) => {
      const one = (shape: Shape, axis: number, parts: readonly Shape[], epsilon = 1e-5) => ({
        attributes: { axis, epsilon },
        inputs: [randomData(random, dtype, shape), ...parts.map((part) => positives(random, dtype, part))],
      });
      return {
        values: [
          one([3, 8], 1, [[8]]),
          one([3, 8], 1, [[8], [8]]),
          one([2, 3, 4], 1, [
            [3, 4],
            [3, 4],
          ]),
          one([2, 3, 4], 2, [[4], [4]], 0.1),
          one([6], 0, [[6], [6]]),
          one([2, 65], 1, [[65], [65]]),
          one([2, 4], 1, [[1], [4]]),
        ],
        "constant-rows": [
          {
            attributes: { axis: 1, epsilon: 1e-5 },
            inputs: [generated(dtype, [2, 4], (at) => (at < 4 ? 3 : -100)), positives(random, dtype, [4])],
          },
        ],
        // The mean of no elements is NaN; without rows there is no mean.
        "no-elements": [
          one([0, 3], 1, [[3], [3]]),
          one([2, 0], 1, [[0]]),
          one([2, 0, 3], 1, [[1], [1]]),
          one([0], 0, [[0]]),
        ],
        ...nanRow(dtype),
      };
    },
  },
  RMSNormalization: {
    samples: (dtype, random) => {
      const one = (shape: Shape, axis: number, part: Shape, epsilon = 1e-5) => ({
        attributes: { axis, epsilon },
        inputs: [randomData(random, dtype, shape), positives(random, dtype, part)],
      });
      return {
        values: [
          one([3, 8], 1, [8]),
          one([2, 3, 4], 1, [3, 4]),
          one([2, 3, 4], 2, [4], 0.1),
          one([6], 0, [6]),
          one([2, 65], 1, [65]),
          one([2, 4], 1, [1]),
        ],
        "rows-of-zeros": [
          {
            attributes: { axis: 1, epsilon: 1e-5 },
            inputs: [generated(dtype, [2, 4], () => 0), positives(random, dtype, [4])],
          },
        ],
        "no-elements": [one([0, 3], 1, [3]), one([2, 0], 1, [0]), one([2, 0, 3], 1, [1]), one([0], 0, [0])],
        ...nanRow(dtype),
      };
    },
  },
};

/** NaN stays in its row. */
function nanRow(dtype: DType) {
  return {
    "nan-in-a-row": [
      {
        attributes: { axis: 1, epsilon: 1e-5 },
        inputs: [hostData(dtype, [1, 2, 3, 1, Number.NaN, 3], [2, 3]), hostData(dtype, [1, 1, 1])],
      },
    ],
  };
}
