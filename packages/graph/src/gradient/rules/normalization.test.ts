import { type GradientCase, pointOf } from "../../../test/finite-differences.js";
import { testGradients } from "../../../test/gradient-tests.js";
import * as normalizationOps from "../../trace/ops/normalization.js";
import type { Tensor } from "../../trace/tensor.js";
import { normalizationGradients } from "./normalization.js";

const cases: readonly GradientCase[] = [
  ...[0, 1, 2].flatMap((axis): readonly GradientCase[] => [
    {
      op: "Softmax",
      name: `axis ${axis}`,
      fn: (x) => normalizationOps.softmax(x as Tensor, axis),
      points: [pointOf([2, 3, 4])],
    },
    {
      op: "LogSoftmax",
      name: `axis ${axis}`,
      fn: (x) => normalizationOps.logSoftmax(x as Tensor, axis),
      points: [pointOf([2, 3, 4])],
    },
  ]),
  ...(
    [
      [[2, 3, 4], -1, [4], [4]],
      [[2, 3, 4], 1, [3, 4], [4]],
      [[2, 3, 4], 1, [3, 1], undefined],
      [[3, 4], 0, [], [3, 4]],
      [[3, 4], 1, [1], undefined],
    ] as const
  ).flatMap(([shape, axis, scale, bias]): readonly GradientCase[] => [
    {
      op: "LayerNormalization",
      fn: (x, s, b) =>
        normalizationOps.layerNormalization(x as Tensor, s as Tensor, b, { axis, epsilon: 0.01 }),
      points: [pointOf(shape, 1), pointOf(scale, 2), ...(bias === undefined ? [] : [pointOf(bias, 3)])],
    },
    {
      op: "RMSNormalization",
      fn: (x, s) => normalizationOps.rmsNormalization(x as Tensor, s as Tensor, { axis, epsilon: 0.01 }),
      points: [pointOf(shape, 1), pointOf(scale, 2)],
    },
  ]),
];

testGradients(normalizationGradients, cases);
