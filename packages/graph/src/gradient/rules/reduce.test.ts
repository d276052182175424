import { type GradientCase, type Point, pointOf, positivePoint } from "../../../test/finite-differences.js";
import { testGradients } from "../../../test/gradient-tests.js";
import type { Op } from "../../graph/attributes.js";
import * as r from "../../trace/ops/reduce.js";
import type { Tensor } from "../../trace/tensor.js";
import { reduceGradients } from "./reduce.js";

const reduction = (
  op: Op,
  fn: (x: Tensor, options: r.ReduceOptions) => Tensor,
  make: (shape: readonly number[], seed?: number) => Point = pointOf,
): readonly GradientCase[] => [
  ...[{}, { axes: [1] }, { axes: [0, -1] }, { axes: [2], keepdims: true }].map((options) => ({
    op,
    name: JSON.stringify(options),
    fn: (x: Tensor | undefined): Tensor => fn(x as Tensor, options),
    points: [make([2, 3, 4], 4)],
  })),
  { op, fn: (x) => fn(x as Tensor, {}), points: [make([], 1)] },
];

const cases: readonly GradientCase[] = [
  ...reduction("ReduceSum", r.reduceSum),
  ...reduction("ReduceMean", r.reduceMean),
  ...reduction("ReduceMax", r.reduceMax),
  ...reduction("ReduceMin", r.reduceMin),
  ...reduction("ReduceProd", r.reduceProd),
  ...reduction("ReduceL1", r.reduceL1),
  ...reduction("ReduceL2", r.reduceL2),
  ...reduction("ReduceLogSum", r.reduceLogSum, positivePoint),
  ...reduction("ReduceLogSumExp", r.reduceLogSumExp),
  ...reduction("ReduceSumSquare", r.reduceSumSquare),
  {
    op: "ReduceProd",
    name: "with one zero and with two",
    fn: (x) => r.reduceProd(x as Tensor, { axes: [1] }),
    points: [{ shape: [3, 3], data: [2, 0, 3, 0, 5, 0, 1, 2, 3] }],
    second: false,
  },
  ...[0, 1, 2].flatMap((axis) =>
    [true, false].map(
      (largest): GradientCase => ({
        op: "TopK",
        name: `axis ${axis}`,
        fn: (x) => r.topK(x as Tensor, 2, { axis, largest }).values,
        points: [pointOf([2, 3, 4], 4)],
      }),
    ),
  ),
  ...[0, 1].flatMap((axis) =>
    [false, true].flatMap((exclusive) =>
      [false, true].map(
        (reverse): GradientCase => ({
          op: "CumSum",
          name: `axis ${axis}${exclusive ? " exclusive" : ""}${reverse ? " reverse" : ""}`,
          fn: (x) => r.cumSum(x as Tensor, axis, { exclusive, reverse }),
          points: [pointOf([2, 3])],
        }),
      ),
    ),
  ),
];

testGradients(reduceGradients, cases);
