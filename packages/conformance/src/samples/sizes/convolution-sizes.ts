/** Convolutions and pools: large batches, long lines, wide planes, many channels. */
import type { Shape } from "@mp/core";
import type { OpAttributes, OpOf } from "@mp/core/graph";
import { exact } from "../op-sample.js";
import { type SizeRows, whole } from "./size-row.js";

interface Convolved {
  readonly x: Shape;
  readonly w: Shape;
  /** Shape of the result without pads and strides. */
  readonly y: Shape;
  readonly group?: number;
}

const CONVOLVED: readonly Convolved[] = [
  { x: [4_133, 1, 11], w: [2, 1, 3], y: [4_133, 2, 9] },
  { x: [66_002, 1, 2], w: [1, 1, 2], y: [66_002, 1, 1] },
  { x: [1, 2, 33_003], w: [2, 2, 3], y: [1, 2, 33_001] },
  { x: [1, 1_031, 4], w: [3, 1_031, 2], y: [1, 3, 3] },
  { x: [1, 1_031, 4], w: [1_031, 1, 2], y: [1, 1_031, 3], group: 1_031 },
  { x: [2, 2, 131, 135], w: [2, 2, 2, 3], y: [2, 2, 130, 133] },
  { x: [4_133, 2, 3, 3], w: [3, 2, 2, 2], y: [4_133, 3, 2, 2] },
];

function attributesOf({ w, group = 1 }: Convolved): OpAttributes["Conv"] {
  const rank = w.length - 2;
  const each = (value: number, count = rank): readonly number[] => new Array<number>(count).fill(value);
  return { strides: each(1), pads: each(0, 2 * rank), dilations: each(1), group };
}

export const convolutionSizes: SizeRows<OpOf<"convolution">> = {
  Conv: () => CONVOLVED.map((sizes) => exact<"Conv">(attributesOf(sizes), whole(sizes.x), whole(sizes.w))),
  ConvTranspose: () =>
    CONVOLVED.map((sizes) =>
      exact<"ConvTranspose">(
        { ...attributesOf(sizes), outputPadding: sizes.w.slice(2).map(() => 0) },
        whole(sizes.y),
        whole(sizes.w),
      ),
    ),
  ConvWeightGradient: () =>
    CONVOLVED.map((sizes) =>
      exact<"ConvWeightGradient">(
        { ...attributesOf(sizes), kernelShape: sizes.w.slice(2) },
        whole(sizes.x),
        whole(sizes.y),
      ),
    ),
};
