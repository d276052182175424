import type { DType, HostTensor, Shape } from "@mp/core";
import type { OpAttributes, OpOf } from "@mp/core/graph";
import { generated, hostData, randomData } from "../host-data.js";
import type { RandomSource } from "../random-source.js";
import { type OpRows, type OpSample, positives } from "./op-sample.js";

const NEVER = Number.NEGATIVE_INFINITY;

type Shapes = readonly [query: Shape, key: Shape, valueSize: number];

const EQUAL: Shapes = [[2, 3, 4, 5], [2, 3, 6, 5], 2];
const GROUPED: Shapes = [[2, 6, 3, 4], [2, 2, 5, 4], 3];

/** Rows of which one attends to all, one to the last key alone, and others to some. */
const bools = (shape: Shape): HostTensor => {
  const keys = shape.at(-1) ?? 1;
  return generated("bool", shape, (at) => {
    const [row, key] = [Math.floor(at / keys), at % keys];
    return row % 3 === 0 ? 1 : key === keys - 1 || (at * 7) % 5 < 2 ? 1 : 0;
  });
};

/** Numbers to add, with -∞ among them; no row has only these. */
const added = (dtype: DType, shape: Shape): HostTensor =>
  generated(dtype, shape, (at) => (at % 5 === 3 ? NEVER : ((at * 3) % 8) / 4 - 1));

/** A mask whose second row attends to nothing; of 3 rows and 5 keys. */
const emptyRow = [1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1];

export const attentionSamples: OpRows<OpOf<"attention">> = {
  Attention: {
    samples: (dtype: DType, random: RandomSource) => {
      const one = (
        [query, key, valueSize]: Shapes,
        attributes: Partial<OpAttributes["Attention"]> = {},
        ...mask: readonly HostTensor[]
      ): OpSample<"Attention"> => ({
        attributes: { scale: 0.5, isCausal: false, softcap: 0, ...attributes },
        inputs: [
          randomData(random, dtype, query, -2, 2),
          randomData(random, dtype, key, -2, 2),
          positives(random, dtype, [...key.slice(0, 3), valueSize]),
          ...mask,
        ],
      });
      const rows = hostData("bool", emptyRow, [3, 5]);
      const addedRows = (of: DType): HostTensor =>
        hostData(
          of,
          emptyRow.map((x) => (x === 0 ? NEVER : 0.5)),
          [3, 5],
        );
      const square: Shapes = [[1, 2, 4, 3], [1, 2, 4, 3], 3];
      return {
        values: [
          one(EQUAL),
          one([[1, 1, 1, 1], [1, 1, 1, 1], 1]),
          one([[1, 1, 3, 8], [1, 1, 1, 8], 4]),
          one([[1, 2, 17, 33], [1, 2, 65, 33], 9]),
          one(GROUPED),
          one([[1, 3, 2, 4], [1, 1, 5, 4], 3]),
        ],
        "the-scale": [one(EQUAL, { scale: 0.125 }), one(EQUAL, { scale: 1.7 }), one(GROUPED, { scale: 0.3 })],
        "the-softcap": [
          one(EQUAL, { softcap: 1.5 }),
          one(GROUPED, { softcap: 20 }, bools([3, 5])),
          one(GROUPED, { softcap: 0.5 }, added("f32", [3, 5])),
        ],
        // Query i attends to keys 0 … i, also where there are more keys than queries or fewer.
        causal: [
          one(square, { isCausal: true }),
          one([[1, 2, 3, 4], [1, 2, 6, 4], 2], { isCausal: true }),
          one([[1, 2, 6, 4], [1, 2, 3, 4], 2], { isCausal: true }),
          one(GROUPED, { isCausal: true }),
        ],
        masks: [
          one(EQUAL, {}, bools([4, 6])),
          one(EQUAL, {}, bools([2, 1, 1, 6])),
          one(EQUAL, {}, bools([3, 1, 6])),
          one(EQUAL, {}, bools([2, 3, 4, 6])),
          one(GROUPED, {}, bools([6, 3, 5])),
          one(
            GROUPED,
            { isCausal: true },
            generated("bool", [2, 1, 3, 5], (at) => (at % 5 === 1 ? 0 : 1)),
          ),
        ],
        "added-masks": ["f32" as const, dtype].flatMap((of) => [
          one(EQUAL, {}, added(of, [4, 6])),
          one(EQUAL, {}, added(of, [2, 1, 1, 6])),
          one(GROUPED, {}, added(of, [2, 6, 3, 5])),
          one(GROUPED, { isCausal: true }, added(of, [6, 1, 5])),
        ]),
        // It gives 0, as in ONNX 1.23 and PyTorch.
        "a-query-that-attends-to-nothing": [
          one(GROUPED, {}, rows),
          one(GROUPED, { isCausal: true }, hostData("bool", [0, 0, 1, 1, 1], [1, 5])),
          one(GROUPED, {}, addedRows("f32")),
          one(GROUPED, {}, addedRows(dtype)),
          one(GROUPED, { softcap: 2 }, hostData("bool", new Array<number>(30).fill(0), [6, 1, 5])),
        ],
        // Their exponentials are infinite: the softmax has to subtract the largest.
        "nothing-overflows-on-the-way": [
          {
            attributes: { scale: 1, isCausal: false, softcap: 0 },
            inputs: [
              hostData(dtype, [20, -20], [1, 1, 2, 1]),
              hostData(dtype, [20, 19.5, -20], [1, 1, 3, 1]),
              hostData(dtype, [1, 2, 4], [1, 1, 3, 1]),
            ],
          },
        ],
        // Scores of which a half keeps too few bits.
        "scores-are-not-rounded": [
          {
            attributes: { scale: 1, isCausal: false, softcap: 0 },
            inputs: [
              generated(dtype, [1, 1, 2, 64], (at) => (at < 64 ? 2 : -2)),
              generated(dtype, [1, 1, 3, 64], (at) => (at % 64 === 0 ? 3.25 + Math.floor(at / 64) / 4 : 1)),
              hostData(dtype, [1, 2, 4], [1, 1, 3, 1]),
            ],
          },
        ],
        "no-elements": [
          one([[0, 2, 3, 4], [0, 2, 5, 4], 2]),
          one([[1, 2, 0, 4], [1, 2, 5, 4], 2], { isCausal: true }),
          one([[1, 2, 3, 4], [1, 2, 0, 4], 2]),
          one([[1, 2, 3, 4], [1, 2, 0, 4], 2], {}, hostData("bool", [], [3, 0])),
          one([[1, 2, 3, 0], [1, 2, 5, 0], 2]),
          one([[1, 2, 3, 4], [1, 2, 5, 4], 0]),
          one([[1, 0, 3, 4], [1, 0, 5, 4], 2]),
        ],
        "nan-in-a-row": [
          {
            attributes: { scale: 1, isCausal: false, softcap: 0 },
            inputs: [
              hostData(dtype, [1, Number.NaN, 2], [1, 1, 3, 1]),
              hostData(dtype, [1, 2], [1, 1, 2, 1]),
              hostData(dtype, [1, 2], [1, 1, 2, 1]),
            ],
          },
        ],
      };
    },
  },
};
