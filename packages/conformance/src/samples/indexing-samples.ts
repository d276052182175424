import type { Shape } from "@mp/core";
import type { Op, OpAttributes, OpOf } from "@mp/core/graph";
import { hostData } from "../host-data.js";
import { counted, type OpRow, type OpRows } from "./op-sample.js";
import { scatterSamples } from "./scatter-samples.js";

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

export const indexingSamples: OpRows<OpOf<"indexing">> = {
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
  ...scatterSamples,
};
