import { type GradientCase, type Point, pointOf } from "../../../test/finite-differences.js";
import { testGradients } from "../../../test/gradient-tests.js";
import type { Op } from "../../graph/attributes.js";
import { tensor } from "../../host/host-tensor.js";
import * as binaryOps from "../../trace/ops/binary.js";
import * as movementOps from "../../trace/ops/movement.js";
import * as sourceOps from "../../trace/ops/source.js";
import * as unaryOps from "../../trace/ops/unary.js";
import type { Tensor } from "../../trace/tensor.js";
import { movementGradients } from "./movement.js";

const unary = (op: Op, fn: (x: Tensor) => Tensor, point: Point, name = ""): GradientCase => ({
  op,
  name,
  fn: (x) => fn(x as Tensor),
  points: [point],
});
const x23 = pointOf([2, 3]);
const x234 = pointOf([2, 3, 4]);
const fixed = (...data: readonly number[]): Tensor => sourceOps.constant(tensor(Float32Array.from(data)));

const cases: readonly GradientCase[] = [
  unary("Reshape", (x) => movementOps.reshape(x, [4, -1]), x234),
  unary("Squeeze", (x) => movementOps.squeeze(x), pointOf([1, 2, 1, 3])),
  unary("Unsqueeze", (x) => movementOps.unsqueeze(x, [0, 2]), x23),
  unary("Transpose", (x) => movementOps.transpose(x, [2, 0, 1]), x234),
  unary("Transpose", (x) => movementOps.transpose(x), x234),
  ...(
    [
      [{ axis: 0, start: 1, end: 3 }],
      [{ axis: 0, start: 1, step: 2 }],
      [{ axis: 0, start: 0, step: 3 }],
      [{ axis: 0, start: 2, step: 3 }],
      [{ axis: 0, step: -1 }],
      [{ axis: 0, start: -2, end: 0, step: -2 }],
      [{ axis: 0, step: -3 }],
      [{ axis: 0, start: 3, end: 3 }],
      [
        { axis: 1, start: 1 },
        { axis: 0, start: 5, step: -2 },
      ],
      [],
    ] as const
  ).map((ranges) =>
    unary("Slice", (x) => movementOps.slice(x, ranges), pointOf([7, 3]), JSON.stringify(ranges)),
  ),
  {
    op: "Concat",
    fn: (a, b, c) => movementOps.concat([a as Tensor, b as Tensor, c as Tensor, a as Tensor], 1),
    points: [x23, pointOf([2, 1], 2), pointOf([2, 0])],
  },
  unary(
    "Concat",
    (x) => movementOps.concat([unaryOps.cast(fixed(1, 2), x.dtype), x, unaryOps.cast(fixed(3), x.dtype)]),
    pointOf([3]),
    "one wanted",
  ),
  unary("Split", (x) => movementOps.split(x, [1, 2, 1], 2)[1] as Tensor, x234, "one used"),
  unary(
    "Split",
    (x) => {
      const [a, b] = movementOps.split(x, 2, 0);
      return binaryOps.mul(a as Tensor, b as Tensor);
    },
    x234,
  ),
  ...(["constant", "reflect", "edge"] as const).flatMap((mode) =>
    (
      [
        [
          [1, 2],
          [0, 1],
        ],
        [
          [2, 0],
          [2, 2],
        ],
        [
          [0, 0],
          [1, 0],
        ],
      ] as const
    ).map((pads) =>
      unary(
        "Pad",
        (x) => movementOps.pad(x, pads, { mode, value: 3 }),
        pointOf([3, 4]),
        `${mode} ${JSON.stringify(pads)}`,
      ),
    ),
  ),
  ...[1, 2].map((size) =>
    unary("Pad", (x) => movementOps.pad(x, [[2, 3]], { mode: "edge" }), pointOf([size]), "edge"),
  ),
  ...[
    [1, 1],
    [2, 3],
    [1, 2],
  ].map((repeats) => unary("Tile", (x) => movementOps.tile(x, repeats), x23, JSON.stringify(repeats))),
  unary("Expand", (x) => movementOps.expand(x, [4, 2, 3]), pointOf([1, 3])),
  unary("Expand", (x) => movementOps.expand(x, [2, 3]), pointOf([])),
];

testGradients(movementGradients, cases);
