import type { OpAttributes, OpOf } from "@mp/core/graph";
import { hostData } from "../../host-data.js";
import { sample } from "../op-sample.js";
import { counting, LONG, ROWS, type SizeRows, TALL, WIDE, whole } from "./size-row.js";

const slice = (
  ...parts: readonly (readonly [axis: number, start: number, end: number, step?: number])[]
): OpAttributes["Slice"] => ({
  axes: parts.map(([axis]) => axis),
  starts: parts.map(([, start]) => start),
  ends: parts.map(([, , end]) => end),
  steps: parts.map(([, , , step = 1]) => step),
});

const pad = (pads: readonly number[], mode: OpAttributes["Pad"]["mode"]): OpAttributes["Pad"] => ({
  pads,
  mode,
  value: -1,
});

export const movementSizes: SizeRows<OpOf<"movement">> = {
  Reshape: () => [
    sample<"Reshape">({ shape: [18, 4_133] }, counting(TALL)),
    sample<"Reshape">({ shape: [2, 33_001] }, counting(LONG)),
  ],
  Transpose: () => [
    sample<"Transpose">({ perm: [1, 0] }, counting(TALL)),
    sample<"Transpose">({ perm: [1, 0] }, counting(ROWS)),
    sample<"Transpose">({ perm: [1, 0] }, counting([1_031, 67])),
    sample<"Transpose">({ perm: [2, 0, 1] }, counting([41, 101, 17])),
    sample<"Transpose">({ perm: [0, 2, 1] }, counting([4_133, 3, 6])),
    sample<"Transpose">({ perm: [0, 2, 3, 1] }, counting([17, 19, 15, 16])),
  ],
  Slice: () => [
    sample<"Slice">(slice([0, 65_000, 66_001]), counting(LONG)),
    sample<"Slice">(slice([0, 66_001, -1, -1]), counting(LONG)),
    sample<"Slice">(slice([0, 1, 4_133], [1, 1, 18]), counting(TALL)),
    sample<"Slice">(slice([1, 1, 4_134, 3]), counting(WIDE)),
    sample<"Slice">(slice([0, 3, 66_002, 2]), counting(ROWS)),
  ],
  Concat: () => [
    sample<"Concat">({ axis: 0 }, counting(LONG), whole([4_133])),
    sample<"Concat">({ axis: 1 }, counting([4_133, 9]), whole([4_133, 8]), counting([4_133, 1])),
    sample<"Concat">({ axis: 0 }, counting([2_067, 17]), whole([2_067, 17])),
    sample<"Concat">({ axis: 1 }, counting([66_002, 1]), whole([66_002, 1])),
    // As many operands as an unrolled loop has steps.
    sample<"Concat">(
      { axis: 0 },
      ...Array.from({ length: 70 }, (_, at) => hostData("f32", [at, -at], [1, 2])),
    ),
  ],
  Split: () => [
    sample<"Split">({ axis: 0, split: [33_001, 33_001] }, counting(LONG)),
    sample<"Split">({ axis: 1, split: [1, 9, 8] }, counting(TALL)),
    sample<"Split">({ axis: 0, split: [4_100, 33] }, counting(TALL)),
    sample<"Split">({ axis: 1, split: new Array<number>(67).fill(1) }, counting([2, 67])),
  ],
  Expand: () => [
    sample<"Expand">({ shape: TALL }, counting([18])),
    sample<"Expand">({ shape: TALL }, counting([4_133, 1])),
    sample<"Expand">({ shape: LONG }, counting([1])),
    sample<"Expand">({ shape: [1_031, 3, 23] }, counting([3, 1])),
  ],
  Squeeze: () => [sample<"Squeeze">({ axes: [1] }, counting([4_133, 1, 18]))],
  Unsqueeze: () => [sample<"Unsqueeze">({ axes: [1] }, counting(TALL))],
  Pad: () => [
    sample<"Pad">(pad([3, 2], "constant"), counting(LONG)),
    sample<"Pad">(pad([0, 1, 1, 2], "constant"), counting(TALL)),
    sample<"Pad">(pad([4_130, 2, 3, 1], "reflect"), counting(TALL)),
    sample<"Pad">(pad([1, 4_100, 2, 1_001], "edge"), counting(WIDE)),
  ],
  Tile: () => [
    sample<"Tile">({ repeats: [4_133, 1] }, counting([1, 18])),
    sample<"Tile">({ repeats: [2, 3] }, counting([4_133, 5])),
    sample<"Tile">({ repeats: [66_002] }, counting([2])),
  ],
};
