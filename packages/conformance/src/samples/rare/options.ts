/** Ties and NaN in searches, and small results. */

import type { OpAttributes, SoftmaxOp } from "@mp/core/graph";
import { generated, hostData } from "../../host-data.js";
import { type OpSample, sample } from "../op-sample.js";
import { HALVES_TOO, type RareRow, type RareRows } from "../rare-row.js";

const INFINITE = Number.POSITIVE_INFINITY;

/** NaN counts as larger than every number; equal elements, including zeros of either sign and NaN, keep their order. */
const topK: RareRow<"TopK"> = {
  dtypes: HALVES_TOO,
  samples: (dtype) => {
    const nan = Number.NaN;
    const rows = [
      [nan, 1, nan, 2, 1, -INFINITE, 2, nan, INFINITE],
      [0, -0, 0, -0, 1, -1, 0, 1, -1],
      [nan, nan, nan, nan, nan, nan, nan, nan, nan],
      [INFINITE, nan, INFINITE, -INFINITE, -INFINITE, nan, 3, 3, 3],
    ];
    const x = hostData(dtype, rows.flat(), [4, 9]);
    return {
      "nan-and-equals-either-way": [true, false].flatMap((largest) =>
        [1, 3, 5, 9].map((k) => sample<"TopK">({ axis: 1, k, largest }, x)),
      ),
      "nan-down-the-columns": [true, false].map((largest) => sample<"TopK">({ axis: 0, k: 3, largest }, x)),
    };
  },
};

/** The left tail of a function: small, and in halves no smaller than the smallest number that they hold. */
function leftTail<K extends "Sigmoid" | "Softplus" | "Elu">(attributes: OpAttributes[K]): RareRow<K> {
  return {
    dtypes: HALVES_TOO,
    samples: (dtype) => ({
      "small-results": [
        sample<K>(
          attributes,
          generated(dtype, [120], (at) => -3 - at / 8),
        ),
      ],
    }),
  };
}

function smallShares<K extends SoftmaxOp>(): RareRow<K> {
  return {
    dtypes: HALVES_TOO,
    samples: (dtype) => {
      const far = dtype === "f16" ? 16 : 80;
      const rows = generated(
        dtype,
        [9, 7],
        (at) => -((at * 5) % 7) * (far / 7) * (1 + Math.floor(at / 7) / 9),
      );
      return {
        "small-results": [
          sample<"Softmax">({ axis: 1 }, rows) as OpSample<K>,
          sample<"Softmax">({ axis: 0 }, rows) as OpSample<K>,
        ],
      };
    },
  };
}

export const rareOptions: RareRows = {
  TopK: topK,
  Sigmoid: leftTail<"Sigmoid">({}),
  Softplus: leftTail<"Softplus">({}),
  Elu: leftTail<"Elu">({ alpha: 1 }),
  Softmax: smallShares<"Softmax">(),
  LogSoftmax: smallShares<"LogSoftmax">(),
};
