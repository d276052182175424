/** Nodes whose attributes matter without any change of the operands' shapes: all sides are equal. */
import { DTYPES, type Op } from "@mp/graph";
import { generated, hostData } from "../../../host-data.js";
import { counted, type OpSample, sample } from "../../../samples/op-sample.js";

const square = (first: number) => generated("f32", [3, 3], (at) => at + first);

/** Five elements in two windows: they stay two with a stride, a dilation or a size that is 1 more. */
const windows = { strides: [2, 2], pads: [0, 0, 0, 0], dilations: [1, 1] };
const five = generated("f32", [1, 1, 5, 5], (at) => ((at * 7) % 25) - 9);
const pool = { ...windows, kernelShape: [2, 2], ceilMode: false };

export const MORE: { readonly [K in Op]?: readonly OpSample<K>[] } = {
  AveragePool: [sample({ ...pool, countIncludePad: false }, five)],
  Cast: DTYPES.map((to) => sample({ to }, hostData("f32", [0.7, 1.3, 2.6, 200.9]))),
  Concat: [sample({ axis: 0 }, square(0), square(9))],
  Conv: [
    sample(
      { ...windows, group: 1 },
      five,
      generated("f32", [1, 1, 2, 2], (at) => at + 1),
    ),
  ],
  GatherElements: [sample({ axis: 0 }, square(0), hostData("i32", [0, 1, 2, 2, 0, 1, 1, 1, 0], [3, 3]))],
  Gelu: (["none", "tanh"] as const).map((approximate) =>
    sample({ approximate }, hostData("f32", [-2.2, -0.4, 0.3, 2.1])),
  ),
  Gemm: [
    sample({ transA: false, transB: false, alpha: 1, beta: 1 }, square(0), square(2), square(-5)),
    sample({ transA: true, transB: true, alpha: 2, beta: 3 }, square(0), square(2), square(-5)),
  ],
  MaxPool: [sample(pool, five)],
  Range: [
    sample({ start: 0, limit: 6, delta: 2, dtype: "f32" }),
    sample({ start: 0, limit: 5, delta: 3, dtype: "f32" }),
  ],
  Reshape: [
    sample({ shape: [1, 12] }, counted("f32", [12])),
    sample({ shape: [1, 11, 1] }, counted("f32", [11])),
  ],
  Slice: [
    sample(
      { axes: [0, 1], starts: [0, 0], ends: [5, 4], steps: [2, 2] },
      generated("f32", [5, 5], (at) => at),
    ),
    sample({ axes: [0], starts: [0], ends: [2], steps: [1] }, square(0)),
  ],
  Split: [sample({ axis: 0, split: [1, 2] }, square(0))],
  Tile: [sample({ repeats: [1, 11] }, square(0))],
};
