/** Softmax, normalization and the likelihood losses. */

import type { DType, Shape } from "@mp/core";
import type { OpAttributes, OpOf, SoftmaxOp } from "@mp/core/graph";
import { generated, hostData, randomData } from "../host-data.js";
import { type OpRow, type OpRows, type OpSample, positives } from "./op-sample.js";

export const INFINITE: number = Number.POSITIVE_INFINITY;

function alongAxis<K extends SoftmaxOp>(): OpRow<K> {
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

export const normalizationSamples: OpRows<OpOf<"normalization">> = {
  Softmax: alongAxis(),
  LogSoftmax: alongAxis(),
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
