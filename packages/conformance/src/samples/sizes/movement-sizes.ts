import { type HostTensor, type Shape, tensor } from "@mp/core";
import type { OpAttributes } from "@mp/core/graph";
import { generated, hostData } from "../host-data.js";
import { exact, sample } from "../op-sample.js";
import { counting, LONG, ROWS, type SizeRows, TALL, WIDE, whole } from "./size-row.js";

const slice = (
  ...parts: readonly (readonly [axis: number, start: number, end: number, step?: number])[]
): OpAttributes["Slice"] => ({
  axes: parts.map(([axis]) => axis),
  starts: parts.map(([, start]) => start),
  ends: parts.map(([, , end]) => end),
  steps: parts.map(([, , , step = 1]) => step),
});

/** Unordered indices below `size`, including negative ones. */
const indices = (shape: Shape, size: number): HostTensor =>
  generated("i32", shape, (at) => ((at * 7_919 + 5) % size) - (at % 3 === 0 ? size : 0));

/** Every index below `size` once: each update has its own place, so their order does not matter. */
const permutation = (size: number): HostTensor => generated("i32", [size], (at) => (at * 7_919) % size);

const pad = (pads: readonly number[], mode: OpAttributes["Pad"]["mode"]): OpAttributes["Pad"] => ({
  pads,
  mode,
  value: -1,
});

export const movementSizes: SizeRows<
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
  | "OneHot"
  | "ScatterElements"
  | "ScatterND"
  | "Constant"
  | "Range"
  | "RandomBits"
  | "Barrier" // biome-ignore format: one list
> = {
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
  Gather: () => [
    sample<"Gather">({ axis: 0 }, counting(LONG), indices([70_003], 66_002)),
    sample<"Gather">({ axis: 0 }, counting(TALL), indices([4_200], 4_133)),
    sample<"Gather">({ axis: 1 }, counting(WIDE), indices([4_200], 4_134)),
    sample<"Gather">({ axis: 0 }, counting([7, 3]), indices([66_002], 7)),
  ],
  GatherElements: () => [
    sample<"GatherElements">({ axis: 0 }, counting(LONG), indices([70_003], 66_002)),
    sample<"GatherElements">({ axis: 0 }, counting(TALL), indices([4_133, 17], 4_133)),
    sample<"GatherElements">({ axis: 1 }, counting(WIDE), indices([17, 4_200], 4_134)),
  ],
  GatherND: () => [
    sample<"GatherND">({ batchDims: 0 }, counting(TALL), indices([4_200, 1], 4_133)),
    sample<"GatherND">({ batchDims: 0 }, counting(LONG), indices([70_003, 1], 66_002)),
    sample<"GatherND">({ batchDims: 1 }, counting(TALL), indices([4_133, 1], 18)),
  ],
  ScatterElements: () => [
    sample<"ScatterElements">(
      { axis: 0, reduction: "none" },
      whole(LONG),
      permutation(66_002),
      counting(LONG),
    ),
    exact<"ScatterElements">(
      { axis: 0, reduction: "add" },
      whole(LONG),
      indices([70_003], 66_002),
      whole([70_003]),
    ),
    exact<"ScatterElements">(
      { axis: 0, reduction: "add" },
      whole([7]),
      indices([70_003], 7),
      whole([70_003]),
    ),
    exact<"ScatterElements">(
      { axis: 1, reduction: "add" },
      whole(TALL),
      indices([4_133, 20], 18),
      whole([4_133, 20]),
    ),
    exact<"ScatterElements">(
      { axis: 1, reduction: "max" },
      whole(WIDE),
      indices([18, 4_200], 4_134),
      counting([18, 4_200]),
    ),
  ],
  ScatterND: () => [
    sample<"ScatterND">(
      { reduction: "none" },
      whole(TALL),
      tensor(permutation(4_133).data as Int32Array, [4_133, 1]),
      counting(TALL),
    ),
    exact<"ScatterND">({ reduction: "add" }, whole(TALL), indices([4_200, 1], 4_133), whole([4_200, 18])),
    exact<"ScatterND">({ reduction: "add" }, whole([5, 3]), indices([66_002, 1], 5), whole([66_002, 3])),
    exact<"ScatterND">({ reduction: "add" }, whole(LONG), indices([70_003, 1], 66_002), whole([70_003])),
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
  OneHot: () => [
    sample<"OneHot">({ axis: 1, depth: 18, dtype: "f32" }, indices([4_133], 18)),
    sample<"OneHot">({ axis: 1, depth: 4_134, dtype: "f32" }, indices([18], 4_134)),
    sample<"OneHot">({ axis: 0, depth: 66_002, dtype: "f32" }, indices([2], 66_002)),
  ],
  Constant: () => [
    sample<"Constant">({ value: counting(LONG) }),
    sample<"Constant">({ value: counting(TALL) }),
  ],
  Range: () => [
    sample<"Range">({ start: 0, limit: 66_002, delta: 1, dtype: "f32" }),
    sample<"Range">({ start: 66_002, limit: -66_000, delta: -2, dtype: "i32" }),
  ],
  RandomBits: () => {
    const draw = (counter: bigint, shape: Shape) =>
      sample<"RandomBits">(
        { key: 0x9c3e5a1fb7d24681n, shape },
        tensor(BigUint64Array.of(counter), [], "u64"),
      );
    // Counters on both sides of 2^32 and of 2^33.
    return [
      draw(2n ** 32n - 33_000n, [66_002]),
      draw(2n ** 33n - 40_000n, TALL),
      draw(2n ** 40n + 2n ** 31n - 500n, [1_031]),
    ];
  },
  Barrier: () => [sample<"Barrier">({}, counting(TALL), counting(LONG))],
};
