/**
 * Functions that have operators in ONNX but are composed of other ops here: their results and gradients in every
 * floating dtype, as one graph each, compared with the oracle.
 */
import { type ComputeDType, type Graph, grad, type Tensor } from "@mp/graph";
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
import { hostData } from "../host-data.js";
import { type GradientSample, gradientOf, positivePoint, spread } from "../samples/gradient-sample.js";
import { unsupportedGraph } from "../support.js";
import { tracedGraph } from "../traced-graph.js";
import { checkGradients, weightedSum } from "./gradient.js";
import { expectRefused } from "./kinds/graph-case.js";

type Ternary = (x: Tensor, scale: Tensor, bias: Tensor) => Tensor;

const of3 = (behaviour: string, fn: Ternary, shape: readonly number[]): GradientSample => {
  const channels = [shape[1] ?? 1];
  return gradientOf(behaviour, [spread(shape), positivePoint(channels, 1), spread(channels, 2)], fn);
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
    gradientOf("of-three", [spread([2, 5, 2, 2])], (x) => lrn(x, { size: 3, alpha: 0.5 })),
    gradientOf("of-more-than-there-are", [spread([1, 2, 3])], (x) =>
      lrn(x, { size: 4, alpha: 0.5, beta: 0.5 }),
    ),
  ],
  GlobalAveragePool: [
    gradientOf("of-planes", [spread([2, 3, 3, 5])], (x) => globalAveragePool(x, { keepdims: true })),
  ],
  GlobalMaxPool: [gradientOf("of-planes", [spread([2, 3, 3, 5])], (x) => globalMaxPool(x))],
  DepthToSpace: [
    gradientOf("outermost", [spread([1, 8, 2, 3])], (x) => depthToSpace(x, 2)),
    gradientOf("innermost", [spread([2, 4, 1, 3])], (x) => depthToSpace(x, 2, { mode: "CRD" })),
  ],
  SpaceToDepth: [gradientOf("outermost", [spread([1, 2, 4, 6])], (x) => spaceToDepth(x, 2))],
  Resize: [
    gradientOf("twice-as-large", [spread([2, 1, 3, 4])], (x) => resize(x, { scales: 2 })),
    gradientOf("nearest-to-an-odd-size", [spread([1, 2, 3, 4])], (x) => resize(x, { sizes: [5, 3] })),
    gradientOf("nearest-of-lines", [spread([2, 2, 5])], (x) =>
      resize(x, { sizes: 2, coordinates: "asymmetric" }),
    ),
    gradientOf("linear-and-larger", [spread([1, 2, 3, 2])], (x) => resize(x, { scales: 2, mode: "linear" })),
    gradientOf("linear-between-corners", [spread([1, 1, 3, 4])], (x) =>
      resize(x, { sizes: [5, 2], mode: "linear", coordinates: "align_corners" }),
    ),
  ],
};

/** Computes the function and the gradients of a weighted sum of it. */
function graphOf({ fn, points }: GradientSample, dtype: ComputeDType): Graph {
  const types = Object.fromEntries(points.map(({ shape }, index) => [`x${index}`, { dtype, shape }]));
  return tracedGraph(types, (inputs) => {
    const loss = (all: readonly Tensor[]): Tensor => weightedSum(fn(...all));
    const gradients = grad(loss)(Object.values(inputs));
    const named = gradients.map((gradient, index) => [`gradient of operand ${index}`, gradient] as const);
    return { result: fn(...Object.values(inputs)), ...Object.fromEntries(named) };
  });
}

function imageCase(name: string, dtype: ComputeDType, tried: GradientSample): ConformanceCase {
  let traced: Graph | undefined;
  const graph = (): Graph => {
    traced ??= graphOf(tried, dtype);
    return traced;
  };
  return {
    id: `image/${name}-${dtype}/${tried.behaviour}`,
    unsupported: (manifest) => unsupportedGraph(manifest, graph()),
    refuses: (backend) => expectRefused(backend, graph()),
    run: (backend) => {
      const inputs = tried.points.map(
        ({ shape, data }, index) => [`x${index}`, hostData(dtype, data, shape)] as const,
      );
      return checkGradients(backend, graph(), Object.fromEntries(inputs));
    },
  };
}

export const imageCases: readonly ConformanceCase[] = Object.entries(samples).flatMap(([name, row]) =>
  (["f32", "f16", "bf16"] as const).flatMap((dtype) => row.map((tried) => imageCase(name, dtype, tried))),
);
