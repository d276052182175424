/**
 * Functions that are operators in ONNX but composed of other ops here. Their results and gradients are one
 * graph each, compared with the oracle.
 */
import type { Tensor } from "@mp/graph";
import {
  depthToSpace,
  globalAveragePool,
  globalMaxPool,
  groupNormalization,
  instanceNormalization,
  lrn,
  resize,
  spaceToDepth,
} from "@mp/graph/ops";
import type { ConformanceCase } from "../conformance-case.js";
import { type GradientSample, gradient, positivePoint, spread } from "../samples/gradient-sample.js";
import { gradientCase } from "./gradient.js";

type Ternary = (x: Tensor, scale: Tensor, bias: Tensor) => Tensor;

const of3 = (behaviour: string, fn: Ternary, shape: readonly number[]): GradientSample => {
  const channels = [shape[1] ?? 1];
  return gradient(behaviour, [spread(shape), positivePoint(channels, 1), spread(channels, 2)], fn);
};

const samples: Readonly<Record<string, readonly GradientSample[]>> = {
  GroupNormalization: [
    of3("of-two-groups", (x, s, b) => groupNormalization(x, s, b, { numGroups: 2 }), [2, 4, 3, 3]),
    of3("of-one-group", (x, s, b) => groupNormalization(x, s, b, { numGroups: 1 }), [1, 3, 5]),
  ],
  InstanceNormalization: [
    of3("of-planes", (x, s, b) => instanceNormalization(x, s, b), [2, 3, 3, 4]),
    of3("of-volumes", (x, s, b) => instanceNormalization(x, s, b), [1, 2, 2, 3, 2]),
  ],
  LRN: [
    gradient("of-three", [spread([2, 5, 2, 2])], (x) => lrn(x, { size: 3, alpha: 0.5 })),
    gradient("of-more-than-there-are", [spread([1, 2, 3])], (x) =>
      lrn(x, { size: 4, alpha: 0.5, beta: 0.5 }),
    ),
  ],
  GlobalAveragePool: [
    gradient("of-planes", [spread([2, 3, 3, 5])], (x) => globalAveragePool(x, { keepdims: true })),
  ],
  GlobalMaxPool: [gradient("of-planes", [spread([2, 3, 3, 5])], (x) => globalMaxPool(x))],
  DepthToSpace: [
    gradient("outermost", [spread([1, 8, 2, 3])], (x) => depthToSpace(x, 2)),
    gradient("innermost", [spread([2, 4, 1, 3])], (x) => depthToSpace(x, 2, { mode: "CRD" })),
  ],
  SpaceToDepth: [gradient("outermost", [spread([1, 2, 4, 6])], (x) => spaceToDepth(x, 2))],
  Resize: [
    gradient("twice-as-large", [spread([2, 1, 3, 4])], (x) => resize(x, { scales: 2 })),
    gradient("nearest-to-an-odd-size", [spread([1, 2, 3, 4])], (x) => resize(x, { sizes: [5, 3] })),
    gradient("nearest-of-lines", [spread([2, 2, 5])], (x) =>
      resize(x, { sizes: 2, coordinates: "asymmetric" }),
    ),
    gradient("linear-and-larger", [spread([1, 2, 3, 2])], (x) => resize(x, { scales: 2, mode: "linear" })),
    gradient("linear-between-corners", [spread([1, 1, 3, 4])], (x) =>
      resize(x, { sizes: [5, 2], mode: "linear", coordinates: "align_corners" }),
    ),
  ],
};

export const imageCases: readonly ConformanceCase[] = Object.entries(samples).map(([name, row]) =>
  gradientCase(`image/${name}-f32/results-and-gradients`, "f32", row, true),
);
