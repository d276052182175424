/** Ops that move elements: every bit is kept, in every dtype. */
import type { DType, Shape } from "@mp/core";
import { isFloat, type Op, type OpAttributes } from "@mp/core/graph";
import { hostData } from "./host-data.js";
import { counted, type OpRow, type OpRows, type OpSample } from "./op-sample.js";

type Sample<K extends Op> = readonly [attributes: OpAttributes[K], ...shapes: Shape[]];

/** The same attributes and shapes in every dtype. */
function row<K extends Op>(samples: readonly Sample<K>[]): OpRow<K> {
  return {
    samples: (dtype) => ({
      values: samples.map(([attributes, ...shapes]) => ({
        attributes,
        inputs: shapes.map((shape, index) => counted(dtype, shape, 3 * index)),
      })),
    }),
  };
}

type Indexed<K extends Op> = readonly [
  attributes: OpAttributes[K],
  data: Shape,
  indices: Shape,
  values: readonly number[],
];

function indexed<K extends Op>(samples: readonly Indexed<K>[]): OpRow<K> {
  return {
    samples: (dtype) => ({
      values: samples.map(([attributes, data, shape, values]) => ({
        attributes,
        inputs: [counted(dtype, data), hostData("i32", values, shape)],
      })),
    }),
  };
}

const slice = (
  axes: readonly number[],
  starts: readonly number[],
  ends: readonly number[],
  steps: readonly number[] = axes.map(() => 1),
): OpAttributes["Slice"] => ({ axes, starts, ends, steps });

/** A pad value that every dtype holds exactly; true in bool. */
const padValue = (dtype: DType): number => (dtype === "bool" ? 1 : isFloat(dtype) ? 1.5 : 3);

export const movementSamples: OpRows<
  | "Reshape"
  | "Transpose"
  | "Slice"
  | "Concat"
  | "Split"
  | "Gather"
  | "GatherElements"
  | "GatherND"
  | "Expand"
  | "Squeeze"
  | "Unsqueeze"
  | "Pad"
  | "Tile"
  | "OneHot" // biome-ignore format: one list
> = {
  Reshape: row<"Reshape">([
    [{ shape: [6] }, [2, 3]],
    [{ shape: [3, 2] }, [2, 3]],
    [{ shape: [] }, [1, 1]],
    [{ shape: [1, 1, 1] }, []],
    [{ shape: [0, 7] }, [3, 0]],
    [{ shape: [2, 2, 3, 1] }, [4, 3]],
  ]),
  Transpose: row<"Transpose">([
    [{ perm: [1, 0] }, [2, 3]],
    [{ perm: [0, 1] }, [2, 3]],
    [{ perm: [2, 0, 1] }, [2, 3, 4]],
    [{ perm: [0, 2, 1, 3] }, [2, 3, 4, 5]],
    [{ perm: [4, 3, 2, 1, 0] }, [2, 1, 3, 2, 2]],
    [{ perm: [] }, []],
    [{ perm: [1, 0] }, [0, 3]],
  ]),
  Slice: row<"Slice">([
    [slice([0], [1], [3]), [5]],
    [slice([0, 1], [1, 0], [3, 2]), [4, 3]],
    [slice([1], [0], [7], [2]), [2, 7]],
    [slice([0], [4], [-1], [-1]), [5]],
    [slice([1], [6], [0], [-2]), [2, 7]],
    [slice([0], [2], [2]), [5]],
    [slice([2], [1], [3]), [2, 3, 4]],
    [slice([], [], []), [2, 2]],
    [slice([1], [0], [0]), [2, 0]],
    // Backwards over no elements.
    [slice([0], [-1], [-1], [-1]), [0]],
    [slice([0], [1], [-1], [-1]), [2, 0]],
    [slice([1, 0], [-1, 2], [-1, -1], [-1, -2]), [3, 0]],
  ]),
  Concat: row<"Concat">([
    [{ axis: 0 }, [2, 3], [1, 3]],
    [{ axis: 1 }, [2, 3], [2, 1], [2, 2]],
    [{ axis: 0 }, [3]],
    [{ axis: 0 }, [3], [0], [2]],
    [{ axis: 2 }, [2, 2, 1], [2, 2, 3]],
  ]),
  Split: row<"Split">([
    [{ axis: 0, split: [2, 1] }, [3, 2]],
    [{ axis: 1, split: [1, 3, 2] }, [2, 6]],
    [{ axis: 0, split: [4] }, [4]],
    [{ axis: 0, split: [0, 2] }, [2, 3]],
    [{ axis: 1, split: [2, 2] }, [2, 4, 3]],
  ]),
  Gather: indexed<"Gather">([
    [{ axis: 0 }, [5], [3], [4, 0, 2]],
    [{ axis: 0 }, [5, 2], [2, 3], [4, 0, 2, 2, 1, 3]],
    [{ axis: 1 }, [2, 5], [2], [4, 1]],
    [{ axis: 1 }, [2, 3, 4], [2, 1], [2, 0]],
    [{ axis: 0 }, [5, 2], [], [3]],
    [{ axis: 0 }, [5], [2], [-1, -5]],
    [{ axis: 0 }, [5, 2], [0], []],
    [{ axis: 0 }, [5, 0], [2], [1, 0]],
  ]),
  GatherElements: indexed<"GatherElements">([
    [{ axis: 0 }, [3, 2], [2, 2], [2, 0, 1, 1]],
    [{ axis: 1 }, [2, 3], [2, 3], [2, 1, 0, 0, 0, 2]],
    [{ axis: 1 }, [3, 4], [2, 1], [-1, -4]],
    [{ axis: 0 }, [5], [3], [4, 4, 0]],
    [{ axis: 2 }, [2, 1, 3], [2, 1, 2], [2, 0, 1, 1]],
    [{ axis: 0 }, [3], [0], []],
  ]),
  GatherND: indexed<"GatherND">([
    [{ batchDims: 0 }, [3, 4], [2, 2], [0, 3, 2, 1]],
    [{ batchDims: 0 }, [3, 4], [2, 1], [2, 0]],
    [{ batchDims: 0 }, [2, 3, 4], [2, 1, 2], [1, 2, 0, 0]],
    [{ batchDims: 1 }, [2, 3, 2], [2, 1], [2, 0]],
    [{ batchDims: 0 }, [3, 4], [1, 2], [-1, -4]],
    [{ batchDims: 0 }, [4], [1], [2]],
    [{ batchDims: 0 }, [3, 4], [1], [-1]],
    [{ batchDims: 0 }, [2, 3, 4], [3], [1, -1, 0]],
    [{ batchDims: 0 }, [3, 4], [0, 1], []],
    [{ batchDims: 0 }, [3, 0], [2, 1], [1, 0]],
    [{ batchDims: 2 }, [2, 2, 3], [2, 2, 1], [2, -3, 1, 0]],
  ]),
  Expand: row<"Expand">([
    [{ shape: [2, 3] }, [3]],
    [{ shape: [4, 2, 3] }, [2, 1]],
    [{ shape: [2, 2] }, []],
    [{ shape: [2, 3] }, [2, 3]],
    [{ shape: [0, 3] }, [1, 3]],
    [{ shape: [3, 0] }, [0]],
  ]),
  Squeeze: row<"Squeeze">([
    [{ axes: [0] }, [1, 3]],
    [{ axes: [0, 2] }, [1, 2, 1, 3]],
    [{ axes: [1] }, [2, 1]],
    [{ axes: [0, 1] }, [1, 1]],
    [{ axes: [] }, [2, 3]],
  ]),
  Unsqueeze: row<"Unsqueeze">([
    [{ axes: [0] }, [3]],
    [{ axes: [0, 2] }, [2, 3]],
    [{ axes: [1] }, [2, 0]],
    [{ axes: [0, 1] }, []],
  ]),
  Pad: {
    samples: (dtype) => {
      const value = padValue(dtype);
      const one = (
        shape: Shape,
        pads: readonly number[],
        mode: OpAttributes["Pad"]["mode"],
      ): OpSample<"Pad"> => ({
        attributes: { pads, mode, value },
        inputs: [counted(dtype, shape)],
      });
      return {
        values: [
          one([3], [1, 2], "constant"),
          one([2, 3], [0, 1, 2, 0], "constant"),
          one([2, 0], [1, 1, 0, 0], "constant"),
          one([], [], "constant"),
          one([2, 2], [0, 0, 0, 0], "constant"),
          one([4], [3, 2], "reflect"),
          one([3, 4], [1, 2, 2, 1], "reflect"),
          one([3], [2, 4], "edge"),
          one([2, 3], [1, 1, 1, 2], "edge"),
        ],
      };
    },
  },
  Tile: row<"Tile">([
    [{ repeats: [3] }, [2]],
    [{ repeats: [2, 1] }, [2, 3]],
    [{ repeats: [2, 3] }, [1, 2]],
    [{ repeats: [1, 1] }, [2, 2]],
    [{ repeats: [0, 2] }, [2, 2]],
    [{ repeats: [] }, []],
  ]),
  OneHot: {
    samples: () => {
      const one = (
        axis: number,
        shape: Shape,
        indices: readonly number[],
        dtype: OpAttributes["OneHot"]["dtype"],
      ) => ({
        attributes: { axis, depth: 4, dtype },
        inputs: [hostData("i32", indices, shape)],
      });
      const into = (dtype: OpAttributes["OneHot"]["dtype"]) => [
        one(1, [3], [0, 3, 1], dtype),
        one(0, [3], [0, 3, 1], dtype),
        one(1, [2, 2], [0, 3, 1, 1], dtype),
        one(0, [], [2], dtype),
        one(1, [0], [], dtype),
      ];
      return {
        "values-f32": into("f32"),
        "values-f16": into("f16"),
        "values-bf16": into("bf16"),
        "values-i32": into("i32"),
        "negative-indices-count-from-the-end": [one(1, [2], [-1, -4], "f32")],
        "indices-outside-give-zeros": [one(1, [3], [4, -5, 100], "f32")],
      };
    },
  },
};
