/** Ops without operands, random bits and the barrier. */

import { type DType, tensor } from "@mp/core";
import { isComputeFloat, type OpAttributes, type OpOf } from "@mp/core/graph";
import { hostData, specialValues } from "../host-data.js";
import { counted, type OpRows, SHAPES } from "./op-sample.js";

const draws = (key: bigint, shape: readonly number[], ...drawn: readonly number[]) =>
  drawn.map((before) => ({ attributes: { key, shape }, inputs: [tensor(Int32Array.of(before), [])] }));

const KEY = 0x9c3e5a1fb7d24681n;

export const sourceSamples: OpRows<OpOf<"source">> = {
  Constant: {
    samples: (dtype) => ({
      values: [
        ...SHAPES.map((shape) => ({ attributes: { value: counted(dtype, shape) }, inputs: [] })),
        ...(isComputeFloat(dtype)
          ? [{ attributes: { value: hostData(dtype, specialValues(dtype)) }, inputs: [] }]
          : []),
      ],
      // More than 4 KiB in every dtype: constants of that size may be bound like inputs.
      large: [{ attributes: { value: counted(dtype, [5000]) }, inputs: [] }],
    }),
  },
  Range: {
    samples: (dtype: DType) => {
      const one = (
        start: number,
        limit: number,
        delta: number,
      ): { attributes: OpAttributes["Range"]; inputs: [] } => ({
        attributes: { start, limit, delta, dtype },
        inputs: [],
      });
      if (dtype === "bool") return { values: [one(0, 2, 1)] };
      const unsigned = dtype === "u8" || dtype === "u64";
      return {
        values: [
          one(0, 5, 1),
          one(1, 8, 3),
          one(3, 3, 1),
          ...(unsigned ? [one(5, 0, -2)] : [one(2, -6, -3)]),
          ...(isComputeFloat(dtype) ? [one(0, 1, 0.125), one(-1, 1, 0.1)] : []),
        ],
      };
    },
  },
  RandomBits: {
    samples: () => ({
      values: draws(KEY, [7], 0, 1, 2 ** 16),
      shapes: [[], [0], [2, 3], [1031]].flatMap((shape) => draws(KEY, shape, 3)),
      keys: [1n, 3n, 2n ** 63n + 1n, 2n ** 64n - 1n].flatMap((key) => draws(key, [5], 12345)),
      // Products wrap at 2^64, and so does the counter itself.
      "counters-wrap": draws(KEY, [4], 2 ** 31 - 1, -1),
    }),
  },
  Barrier: {
    samples: (dtype) => ({
      values: SHAPES.map((shape) => ({
        attributes: {},
        inputs: [counted(dtype, shape), counted(dtype, [2]), counted(dtype, shape, 1)],
      })),
    }),
  },
};
