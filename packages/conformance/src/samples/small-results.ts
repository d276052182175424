/** Ties and NaN in searches and comparisons, and small results. */

import type { HostTensor, OpAttributes, Shape, SoftmaxOp } from "@mp/graph";
import { generate, hostData } from "../host-data.js";
import { type OpSample, sample } from "./op-sample.js";
import { HALVES_TOO, type RareRow } from "./rare-row.js";

const INFINITE = Number.POSITIVE_INFINITY;

/** NaN counts as larger than every number. Equal elements, including NaN and zeros of any sign, keep their order. */
export const nanInTopK: RareRow<"TopK"> = {
  dtypes: HALVES_TOO,
  samples: ({ dtype }) => {
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
        [1, 3, 5, 9].map((k) => sample({ axis: 1, k, largest }, x)),
      ),
      "nan-down-the-columns": [true, false].map((largest) => sample({ axis: 0, k: 3, largest }, x)),
    };
  },
};

/** The left tail of a function, where results are small but not too small for a half. */
export function leftTail<K extends "Sigmoid" | "Softplus" | "Elu">(attributes: OpAttributes[K]): RareRow<K> {
  return {
    dtypes: HALVES_TOO,
    samples: ({ dtype }) => ({
      "small-results": [
        sample<K>(
          attributes,
          generate(dtype, [120], (at) => -3 - at / 8),
        ),
      ],
    }),
  };
}

export function smallShares<K extends SoftmaxOp>(): RareRow<K> {
  return {
    dtypes: HALVES_TOO,
    samples: ({ dtype }) => {
      const far = dtype === "f16" ? 16 : 80;
      const rows = generate(
        dtype,
        [9, 7],
        (at) => -((at * 5) % 7) * (far / 7) * (1 + Math.floor(at / 7) / 9),
      );
      return {
        "small-results": [sample({ axis: 1 }, rows) as OpSample<K>, sample({ axis: 0 }, rows) as OpSample<K>],
      };
    },
  };
}

const SCALARS: readonly Shape[] = [[], [1], [4], [3, 1], [3, 4], [2, 3, 4], [2, 1, 4]];

/** NaN on either side, in every pair of shapes, opposite a number, an infinity or zero. */
export function nanOnEitherSide<K extends "Max" | "Min">(): RareRow<K> {
  return {
    dtypes: HALVES_TOO,
    samples: ({ dtype }) => {
      const numbers = [1, INFINITE, -INFINITE, 0, -3];
      const nan = (shape: Shape): HostTensor =>
        generate(dtype, shape, (at) => (at % 2 === 0 ? Number.NaN : at));
      const plain = (shape: Shape, offset: number): HostTensor =>
        generate(dtype, shape, (at) => numbers[(at + offset) % numbers.length] ?? 0);
      const pairs = SCALARS.flatMap((a, i) => SCALARS.map((b, j) => [a, b, i + j] as const));
      return {
        "nan-on-either-side": pairs.flatMap(([a, b, offset]) => [
          sample({}, nan(a), plain(b, offset)),
          sample({}, plain(a, offset), nan(b)),
        ]) as unknown as OpSample<K>[],
      };
    },
  };
}

export const zerosInTopK: RareRow<"TopK"> = {
  dtypes: HALVES_TOO,
  samples: ({ dtype }) => ({
    "zeros-of-either-sign": [true, false].flatMap((largest) =>
      [
        [-0, 0, -0, 0],
        [0, -0, 0, -0],
        [-0, 0, -1, 1],
        [0, -0, Number.NaN, -0],
      ].flatMap((row) => [
        sample({ axis: 0, k: 4, largest }, hostData(dtype, row)),
        sample({ axis: 0, k: 2, largest }, hostData(dtype, row)),
        sample(
          { axis: 0, k: 4, largest },
          generate(dtype, [4, 3], (at) => row[Math.floor(at / 3)] ?? 0),
        ),
      ]),
    ),
  }),
};
