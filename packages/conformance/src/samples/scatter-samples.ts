import type { DType, HostTensor, Shape } from "@mp/core";
import {
  isComputeFloat,
  isHalf,
  type OpAttributes,
  type ScatterOp,
  type ScatterReduction,
} from "@mp/core/graph";
import { generated, hostData } from "../host-data.js";
import { counted, type OpRows, type OpSample } from "./op-sample.js";

const REDUCTIONS: readonly ScatterReduction[] = ["add", "mul", "max", "min"];

/** The 8-bit floats and bool are moved, never reduced. */
export const combines = (dtype: DType): boolean => !["f8e4m3", "f8e5m2", "bool"].includes(dtype);

/** NaN in the data and in the updates, before a number and after one. */
function withNan(dtype: DType, indices: Shape): readonly HostTensor[] {
  const nan = Number.NaN;
  const updates = [1, nan, 5, -5, 4, nan, nan];
  return [
    hostData(dtype, [nan, 1, 2, nan, 3]),
    hostData("i32", NAN_PLACES, indices),
    hostData(dtype, updates),
  ];
}
const NAN_PLACES = [0, 1, 1, 2, 4, 4, 3];

/** Exact in any order: small whole numbers, and products of at most two of them. */
const whole = (dtype: DType, shape: Shape, offset: number): HostTensor => {
  const low = dtype === "u8" || dtype === "u64" ? 0 : -2;
  return generated(dtype, shape, (at) => low + ((at * 3 + offset) % 5));
};

/** Three ones added to a number where each alone would be lost in a half: they must accumulate in f32. */
function accumulating(dtype: DType): readonly [data: HostTensor, updates: HostTensor] {
  const big = dtype === "bf16" ? 256 : 2048;
  return [hostData(dtype, [big, 1]), hostData(dtype, [1, 1, 1])];
}

export const scatterSamples: OpRows<ScatterOp> = {
  ScatterElements: {
    samples: (dtype) => {
      const one = (
        attributes: OpAttributes["ScatterElements"],
        data: Shape,
        shape: Shape,
        indices: readonly number[],
      ): OpSample<"ScatterElements"> => ({
        attributes,
        inputs: [
          attributes.reduction === "none" ? counted(dtype, data) : whole(dtype, data, 0),
          hostData("i32", indices, shape),
          attributes.reduction === "none" ? counted(dtype, shape, 5) : whole(dtype, shape, 2),
        ],
        exact: true,
      });
      const [big, ones] = accumulating(dtype);
      return {
        values: [
          one({ axis: 0, reduction: "none" }, [5], [3], [4, 0, 2]),
          one({ axis: 1, reduction: "none" }, [2, 4], [2, 2], [3, 0, 1, 2]),
          one({ axis: 0, reduction: "none" }, [3, 3], [1, 2], [2, 0]),
          one({ axis: 1, reduction: "none" }, [2, 3], [2, 1], [-1, -3]),
          one({ axis: 0, reduction: "none" }, [3], [0], []),
        ],
        ...(combines(dtype)
          ? {
              "repeated-indices-combine": REDUCTIONS.flatMap((reduction) => [
                one({ axis: 0, reduction }, [4], [5], [1, 1, 3, 0, 3]),
                one({ axis: 1, reduction }, [2, 3], [2, 4], [0, 0, 2, 2, 1, 1, 1, 0]),
              ]),
            }
          : {}),
        ...(isComputeFloat(dtype)
          ? {
              "nan-comes-through": REDUCTIONS.map((reduction) => ({
                attributes: { axis: 0, reduction },
                inputs: withNan(dtype, [NAN_PLACES.length]),
              })),
            }
          : {}),
        ...(isHalf(dtype)
          ? {
              "sums-run-in-f32": [
                {
                  attributes: { axis: 0, reduction: "add" as const },
                  inputs: [big, hostData("i32", [0, 0, 0]), ones],
                  exact: true,
                },
              ],
            }
          : {}),
      };
    },
  },
  ScatterND: {
    samples: (dtype) => {
      const one = (
        reduction: ScatterReduction,
        data: Shape,
        shape: Shape,
        indices: readonly number[],
      ): OpSample<"ScatterND"> => {
        const depth = shape.at(-1) as number;
        const updates = [...shape.slice(0, -1), ...data.slice(depth)];
        return {
          attributes: { reduction },
          inputs: [
            reduction === "none" ? counted(dtype, data) : whole(dtype, data, 0),
            hostData("i32", indices, shape),
            reduction === "none" ? counted(dtype, updates, 5) : whole(dtype, updates, 2),
          ],
          exact: true,
        };
      };
      const [big, ones] = accumulating(dtype);
      return {
        values: [
          one("none", [5], [3, 1], [4, 0, 2]),
          one("none", [3, 4], [2, 2], [0, 3, 2, 1]),
          one("none", [3, 4], [2, 1], [2, 0]),
          one("none", [3, 4], [1, 2], [-1, -4]),
          one("none", [2, 2, 2], [1, 1, 2], [1, 0]),
          one("none", [4], [1], [-2]),
          one("none", [3, 4], [1], [1]),
          one("none", [3, 4], [2], [2, -1]),
          one("none", [3, 4], [0, 1], []),
          one("none", [3, 0], [2, 1], [1, 0]),
        ],
        ...(combines(dtype)
          ? {
              "repeated-indices-combine": REDUCTIONS.flatMap((reduction) => [
                one(reduction, [4], [5, 1], [1, 1, 3, 0, 3]),
                one(reduction, [3, 2], [4, 1], [0, 0, 2, 0]),
                one(reduction, [3, 2], [1], [-1]),
                one(reduction, [3, 2], [2], [2, 0]),
              ]),
            }
          : {}),
        ...(isComputeFloat(dtype)
          ? {
              "nan-comes-through": REDUCTIONS.map((reduction) => ({
                attributes: { reduction },
                inputs: withNan(dtype, [NAN_PLACES.length, 1]),
              })),
            }
          : {}),
        ...(isHalf(dtype)
          ? {
              "sums-run-in-f32": [
                {
                  attributes: { reduction: "add" as const },
                  inputs: [big, hostData("i32", [0, 0, 0], [3, 1]), ones],
                  exact: true,
                },
              ],
            }
          : {}),
      };
    },
  },
};
