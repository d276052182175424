import { type GradientCase, indices, pointOf } from "../../../test/finite-differences.js";
import { testGradients } from "../../../test/gradient-tests.js";
import * as indexingOps from "../../trace/ops/indexing.js";
import { literal } from "../../trace/ops/source.js";
import type { Tensor } from "../../trace/tensor.js";
import { indexingGradients } from "./indexing.js";

const x23 = pointOf([2, 3]);
const x234 = pointOf([2, 3, 4]);

const cases: readonly GradientCase[] = [
  ...[0, 1, 2].flatMap((axis): readonly GradientCase[] => [
    {
      op: "Gather",
      name: `axis ${axis}`,
      fn: (x) => indexingOps.gather(x as Tensor, indices([1, 0, -1, 1], [2, 2]), axis),
      points: [x234],
    },
    {
      op: "Gather",
      name: `axis ${axis}, one index`,
      fn: (x) => indexingOps.gather(x as Tensor, indices([-2], []), axis),
      points: [x234],
    },
  ]),
  ...[0, -1].map(
    (place): GradientCase => ({
      op: "Gather",
      name: `literal ${place}`,
      fn: (x) => indexingOps.gather(x as Tensor, literal(place, "i32"), 1),
      points: [x234],
    }),
  ),
  {
    op: "GatherElements",
    fn: (x) => indexingOps.gatherElements(x as Tensor, indices([0, 1, 1, -1, 0, 0], [2, 3]), 0),
    points: [x23],
  },
  {
    op: "GatherElements",
    name: "fewer rows",
    fn: (x) => indexingOps.gatherElements(x as Tensor, indices([2, 2], [1, 2]), 1),
    points: [x23],
  },
  {
    op: "GatherND",
    fn: (x) => indexingOps.gatherND(x as Tensor, indices([0, 1, 1, -1, 0, 1], [3, 2])),
    points: [x234],
  },
  { op: "GatherND", fn: (x) => indexingOps.gatherND(x as Tensor, indices([1, 1], [2, 1])), points: [x234] },
  {
    op: "GatherND",
    name: "batchDims 1",
    fn: (x) => indexingOps.gatherND(x as Tensor, indices([0, 2, 2, 1], [2, 2, 1]), 1),
    points: [x234],
  },
  {
    op: "GatherND",
    name: "batchDims 2",
    fn: (x) => indexingOps.gatherND(x as Tensor, indices([0, 2, 3, 1, 0, 0], [2, 3, 1]), 2),
    points: [x234],
  },
  ...(["none", "add"] as const).flatMap((reduction): readonly GradientCase[] => [
    {
      op: "ScatterElements",
      name: reduction,
      fn: (x, u) =>
        indexingOps.scatterElements(x as Tensor, indices([0, 2, 1, -1], [2, 2]), u as Tensor, {
          axis: 1,
          reduction,
        }),
      points: [x23, pointOf([2, 2], 8)],
    },
    {
      op: "ScatterND",
      name: reduction,
      fn: (x, u) =>
        indexingOps.scatterND(x as Tensor, indices([0, 1, 1, -1], [2, 2]), u as Tensor, { reduction }),
      points: [x234, pointOf([2, 4], 8)],
    },
  ]),
  {
    op: "ScatterND",
    name: "add, one place twice",
    fn: (x, u) =>
      indexingOps.scatterND(x as Tensor, indices([1, 1], [2, 1]), u as Tensor, { reduction: "add" }),
    points: [x23, pointOf([2, 3], 8)],
  },
];

testGradients(indexingGradients, cases);
