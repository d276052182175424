import { describe, expect, it } from "vitest";
import { pointOf } from "../../test/finite-differences.js";
import { attention, type Loss, lstm, modelShapes } from "../../test/model-losses.js";
import type { ComputeDType } from "../dtype.js";
import { roundTo } from "../float-format/round.js";
import { grad } from "../gradient/grad.js";
import type { Graph } from "../graph/graph.js";
import { evaluateRaw, type RawTensor } from "../reference/evaluate.js";
import { add, mul, sub } from "../trace/ops/binary.js";
import { cast } from "../trace/ops/unary.js";
import { remat } from "../trace/remat.js";
import type { Tensor } from "../trace/tensor.js";
import { traceInto, withPhase } from "../trace/trace.js";
import { eliminateCommonSubexpressions } from "./common-subexpressions.js";
import { foldConstants } from "./constant-folding.js";
import { eliminateDeadCode } from "./dead-code.js";
import { fuseSliceGradients } from "./fuse-slice-gradients.js";
import { fuseWeightGradients } from "./fuse-weight-gradients.js";
import { prepareGraph } from "./prepare.js";
import { scheduleGraph } from "./schedule.js";

/** A training step: loss, gradients, and gradient descent with momentum. */
function training(loss: Loss, dtype: ComputeDType): Graph {
  const _shapes = [[6, 4], [4, 16], [16], [4, 6]];
  const inputs = modelShapes.flatMap((shape, index) => [
    { name: `w${index}`, role: "parameter" as const, type: { dtype, shape } },
    { name: `m${index}`, role: "state" as const, type: { dtype: "f32" as const, shape } },
  ]);
  return traceInto(inputs, (tensors) => {
    const gradients = grad(loss)(tensors.filter((_, index) => index % 2 === 0));
    return withPhase("update", () =>
      gradients.map((gradient, index) => {
        const momentum = add(mul(tensors[2 * index + 1] as Tensor, 0.9), cast(gradient, "f32"));
        return { momentum, weight: sub(cast(tensors[2 * index] as Tensor, "f32"), mul(momentum, 0.1)) };
      }),
    );
  }).graph;
}

function run(graph: Graph, arithmetic: "exact" | "f64" = "exact"): readonly (readonly number[])[] {
  const feed = Object.fromEntries(
    graph.inputs.map(({ name, value: { dtype, shape } }, index) => {
      const data = Float32Array.from(pointOf(shape, index).data, (x) => roundTo(dtype as ComputeDType, x));
      return [name, { dtype, shape, data } satisfies RawTensor];
    }),
  );
  return Object.values(evaluateRaw(graph, feed, { arithmetic })).map(({ data }) =>
    Array.from(data as Float64Array, Number),
  );
}

const cases = (
  [
    ["lstm", lstm],
    ["attention", attention],
    ["attention, checkpointed", remat(attention)],
    ["lstm, checkpointed", remat(lstm)],
  ] as const
).flatMap(([name, loss]) =>
  (["f32", "f16", "bf16"] as const).map((dtype) => [`${name} in ${dtype}`, training(loss, dtype)] as const),
);

describe.each([
  ["dead code", eliminateDeadCode],
  ["folding", foldConstants],
  ["common subexpressions", eliminateCommonSubexpressions],
  ["schedule", scheduleGraph],
])("%s changes no bit", (_, pass) => {
  it.each(cases)("of %s", (_name, graph) => {
    expect(run(pass(graph))).toEqual(run(graph));
  });
});

describe.each([
  ["weight gradients", fuseWeightGradients],
  ["slice gradients", fuseSliceGradients],
])("fused %s add up to the same", (_, fuse) => {
  it.each(cases.filter(([name]) => name.startsWith("lstm")))("in %s", (_name, graph) => {
    const clean = eliminateCommonSubexpressions(foldConstants(eliminateDeadCode(graph)));
    const fused = fuse(clean);
    expect(fused.nodes.length).toBeLessThan(clean.nodes.length);
    const wanted = run(clean, "f64");
    run(fused, "f64").forEach((numbers, index) => {
      numbers.forEach((x, element) => {
        expect(x).toBeCloseTo(wanted[index]?.[element] ?? Number.NaN, 12);
      });
    });
  });
});

describe("all passes after one another", () => {
  it.each(cases)("give a graph that they leave as it is: %s", (_name, graph) => {
    const once = prepareGraph(graph);
    const again = prepareGraph(once);
    expect(again.nodes.map(({ op }) => op)).toEqual(once.nodes.map(({ op }) => op));
  });
});
