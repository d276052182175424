import type { OpOf } from "@mp/core/graph";
import { averagePool, maxPool } from "@mp/core/ops";
import { type GradientRows, sample, spread } from "../gradient-sample.js";
import { of1 } from "./of-operands.js";

/** Windows that touch, overlap, leave gaps, reach into the padding and beyond it, in one to three dimensions. */
const poolings = [
  { behaviour: "windows-of-two", shape: [2, 2, 4, 6], kernel: 2, options: {} },
  { behaviour: "overlapping", shape: [1, 2, 7, 5], kernel: 3, options: { strides: 2, pads: 1 } },
  { behaviour: "with-gaps", shape: [1, 3, 9], kernel: 2, options: { strides: 4, pads: [1, 0] } },
  {
    behaviour: "with-a-ceiling",
    shape: [1, 1, 6, 8],
    kernel: [3, 2],
    options: { strides: [2, 3], ceilMode: true },
  },
  {
    behaviour: "with-holes",
    shape: [1, 2, 7, 8],
    kernel: [3, 2],
    options: { strides: 1, pads: 1, dilations: [2, 3] },
  },
  { behaviour: "volumes", shape: [1, 2, 4, 3, 5], kernel: 2, options: { strides: [2, 1, 2] } },
] as const;

export const poolingGradients: GradientRows<OpOf<"pooling">> = {
  MaxPool: poolings.map(({ behaviour, shape, kernel, options }) =>
    sample(
      behaviour,
      of1((x) => maxPool(x, kernel, options)),
      spread(shape),
    ),
  ),
  AveragePool: poolings.flatMap(({ behaviour, shape, kernel, options }) =>
    [false, true].map((countIncludePad) =>
      sample(
        countIncludePad ? `${behaviour}-padding-counted` : behaviour,
        of1((x) => averagePool(x, kernel, { ...options, countIncludePad })),
        spread(shape),
      ),
    ),
  ),
  MaxPoolGradient: { none: "is the gradient of MaxPool, and tried there" },
};
