/** Constants, ranges, random bits and the barrier. */
import { type DType, isComputeFloat, isFloat, type OpOf, type Shape, tensor } from "@mp/graph";
import { hostData, specialValues } from "../host-data.js";
import { longRange } from "./far-rows.js";
import { PREDICATE, SOURCE } from "./gradient-sample.js";
import type { OpTable } from "./op-row.js";
import { countUp, SHAPES, sample } from "./op-sample.js";
import { setting } from "./setting.js";
import { counting, LONG, TALL } from "./size-data.js";
import { everySeventh, label, lengths, SIDES } from "./tail-data.js";

const draws = (key: bigint, shape: readonly number[], ...drawn: readonly number[]) =>
  drawn.map((before) => sample<"RandomBits">({ key, shape }, tensor(Int32Array.of(before), [])));

const KEY = 0x9c3e5a1fb7d24681n;

/** The attributes of a Range of the given length. For bool it has at most two elements. */
const rangeTo = (dtype: DType, length: number) =>
  dtype === "bool"
    ? { start: 0, limit: Math.min(length, 2), delta: 1, dtype }
    : { start: 1, limit: 2 * length, delta: 2, dtype };

export const sourceTable: OpTable<OpOf<"source">> = {
  Constant: {
    samples: ({ dtype }) => ({
      values: [
        ...SHAPES.map((shape) => sample<"Constant">({ value: countUp(dtype, shape) })),
        ...(isComputeFloat(dtype)
          ? [sample<"Constant">({ value: hostData(dtype, specialValues(dtype)) })]
          : []),
      ],
      // More than 4 KiB in every dtype, because constants of that size may be bound like inputs.
      large: [sample({ value: countUp(dtype, [5000]) })],
    }),
    tails: (draws) => lengths(draws.dtype).map((length) => sample({ value: label(draws, [length]) })),
    sizes: () => [sample({ value: counting(LONG) }), sample({ value: counting(TALL) })],
    options: (dtype) => [
      setting(
        "Constant",
        {
          value: [[], [1], [3], [2, 3], [2, 0], [2, 1, 3], [2, 1, 2, 1, 3]].map((shape) =>
            countUp(dtype, shape, 3),
          ),
          // Only a casting policy reads `literal`.
          literal: [undefined, 2],
        },
        {},
        (attributes) => sample(attributes),
      ),
    ],
    gradients: SOURCE,
  },
  Range: {
    samples: ({ dtype }) => {
      const one = (start: number, limit: number, delta: number) =>
        sample<"Range">({ start, limit, delta, dtype });
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
    tails: ({ dtype }) => lengths(dtype).map((length) => sample(rangeTo(dtype, length))),
    sizes: () => [
      sample({ start: 0, limit: 66_002, delta: 1, dtype: "f32" }),
      sample({ start: 66_002, limit: -66_000, delta: -2, dtype: "i32" }),
    ],
    options: (dtype) => [
      setting(
        "Range",
        dtype === "bool"
          ? { start: [0, 1], limit: [2], delta: [1], dtype: [dtype] }
          : {
              start: [2, 0, 5, 17, ...(isFloat(dtype) ? [-1.5] : [])],
              limit: [11, 12, 3, 0],
              delta: [3, 1, 2, -2, ...(isFloat(dtype) ? [0.5, 0.375] : [])],
              dtype: [dtype],
            },
        {},
        (attributes) => sample(attributes),
      ),
    ],
    gradients: SOURCE,
    rare: [longRange],
  },
  RandomBits: {
    samples: () => ({
      values: draws(KEY, [7], 0, 1, 2 ** 16),
      shapes: [[], [0], [2, 3], [1031]].flatMap((shape) => draws(KEY, shape, 3)),
      keys: [1n, 3n, 2n ** 63n + 1n, 2n ** 64n - 1n].flatMap((key) => draws(key, [5], 12345)),
      // Products and the counter wrap at 2^64.
      "counters-wrap": draws(KEY, [4], 2 ** 31 - 1, -1),
    }),
    tails: () =>
      [...SIDES, ...everySeventh(3)].map((length, at) =>
        sample(
          { key: 0x9c3e5a1fb7d24681n + BigInt(2 * length), shape: at % 3 === 0 ? [3, length] : [length] },
          tensor(Int32Array.of(2 ** 16 - at), []),
        ),
      ),
    sizes: () => {
      const draw = (drawn: number, shape: Shape) =>
        sample<"RandomBits">({ key: 0x9c3e5a1fb7d24681n, shape }, tensor(Int32Array.of(drawn), []));
      return [draw(2 ** 16 - 1, [66_002]), draw(2 ** 24 + 1, TALL), draw(2 ** 31 - 500, [1_031])];
    },
    options: () => [
      setting(
        "RandomBits",
        {
          key: [0x9c3e5a1fb7d24681n, 1n, 3n, 2n ** 32n + 1n, 2n ** 63n + 1n, 2n ** 64n - 1n],
          shape: [[5], [], [0], [3, 4], [2, 3, 2], [70]],
        },
        { drawn: [0, 1, 2 ** 16 + 3, 2 ** 31 - 2, -2] },
        (attributes, { drawn }) => sample(attributes, hostData("i32", [drawn], [])),
      ),
    ],
    gradients: PREDICATE,
  },
  Barrier: {
    samples: ({ dtype }) => ({
      values: SHAPES.map((shape) =>
        sample({}, countUp(dtype, shape), countUp(dtype, [2]), countUp(dtype, shape, 1)),
      ),
    }),
    tails: (draws) =>
      lengths(draws.dtype).map((length) => sample({}, label(draws, [length]), label(draws, [2]))),
    sizes: () => [sample({}, counting(TALL), counting(LONG))],
    gradients: { none: "is put in by core, behind remat, whose cases train" },
  },
};
