/** Values that are made, and padding and one-hot vectors, whose attributes are values too. */
import type { DType, Shape } from "@mp/core";
import { isFloat } from "@mp/core/graph";
import { hostData } from "../../host-data.js";
import { scattered } from "../axes/axis-row.js";
import { counted, sample } from "../op-sample.js";
import { drawIndices } from "../rare-row.js";
import { type OptionRows, setting } from "./setting.js";

const PADDED: Shape = [3, 4, 3];
const INFINITE = Number.POSITIVE_INFINITY;

/** The values that the dtype holds. */
const padValues = (dtype: DType): readonly number[] => {
  if (dtype === "bool") return [0, 1];
  if (dtype === "f8e4m3") return [0, 1.5, -3];
  return isFloat(dtype) ? [0, 1.5, -3, -0, INFINITE, -INFINITE, Number.NaN] : [0, 3, 100];
};

export const sourceOptions: OptionRows<"Constant" | "Range" | "RandomBits" | "OneHot" | "Pad"> = {
  Constant: {
    settings: (dtype) => [
      setting(
        "Constant",
        {
          value: [[], [1], [3], [2, 3], [2, 0], [2, 1, 3], [2, 1, 2, 1, 3]].map((shape) =>
            counted(dtype, shape, 3),
          ),
          // Only a casting policy reads it.
          literal: [undefined, 2],
        },
        {},
        (attributes) => sample(attributes),
      ),
    ],
  },
  Range: {
    settings: (dtype) => [
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
  },
  RandomBits: {
    settings: () => [
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
  },
  OneHot: {
    settings: () => [
      setting(
        "OneHot",
        { axis: [1, 0, 2], depth: [4, 1, 7], dtype: ["f32", "f16", "bf16", "i32"] },
        {},
        (attributes, _, random) => sample(attributes, drawIndices(random, [2, 5], 5)),
      ),
    ],
  },
  Pad: {
    settings: (dtype) => [
      setting(
        "Pad",
        {
          pads: [
            [0, 1, 0, 0, 0, 2],
            [1, 0, 0, 0, 0, 0],
            [0, 0, 2, 0, 1, 0],
            [2, 3, 2, 1, 2, 1],
          ],
          mode: ["constant", "reflect", "edge"],
          value: padValues(dtype),
        },
        {},
        (attributes, _, random) => sample(attributes, scattered(random, dtype, PADDED)),
      ),
    ],
  },
};
