import { describe, expect, it } from "vitest";
import type { ComputeDType } from "../dtype.js";
import { roundTo } from "../float-format/round.js";
import type { Graph } from "../graph/graph.js";
import { evaluateRaw, type RawTensor } from "../reference/evaluate.js";
import { checkpoint } from "../trace/checkpoint.js";
import { grad } from "../trace/grad.js";
import { add, cast, gelu, mul, sigmoid, sub, tanh } from "../trace/ops/elementwise.js";
import { matMul } from "../trace/ops/matrix.js";
import { gather, slice, split, squeeze, transpose } from "../trace/ops/movement.js";
import { layerNormalization, softmax, softmaxCrossEntropyLoss } from "../trace/ops/normalization.js";
import { key, randomBernoulli } from "../trace/random.js";
import type { Tensor } from "../trace/tensor.js";
import { traceInto, withPhase } from "../trace/trace.js";
import { eliminateCommonSubexpressions } from "./common-subexpressions.js";
import { foldConstants } from "./constant-folding.js";
import { eliminateDeadCode } from "./dead-code.js";
import { indices, pointOf } from "./finite-differences.js";
import { fuseSliceGradients } from "./fuse-slice-gradients.js";
import { fuseWeightGradients } from "./fuse-weight-gradients.js";
import { scheduleGraph } from "./schedule.js";

type Loss = (w: readonly Tensor[]) => Tensor;

/** [batch 2, time 5] tokens through an LSTM of width 4: gates by slices, one weight for input and state. */
const lstm: Loss = ([table, weight, bias, out]) => {
  const tokens = indices([0, 1, 2, 3, 4, 5, 0, 2, 4, 1], [2, 5]);
  const embedded = gather(table as Tensor, tokens);
  let hidden: Tensor | undefined;
  let cell: Tensor | undefined;
  for (const step of split(embedded, 5, 1)) {
    const x = squeeze(step, [1]);
    const gates = add(matMul(hidden === undefined ? x : add(x, hidden), weight as Tensor), bias as Tensor);
    const gate = (index: number): Tensor => slice(gates, [{ axis: 1, start: 4 * index, end: 4 * index + 4 }]);
    const input = mul(sigmoid(gate(0)), tanh(gate(1)));
    cell = cell === undefined ? input : add(mul(sigmoid(gate(2)), cell), input);
    hidden = mul(sigmoid(gate(3)), tanh(cell));
  }
  return softmaxCrossEntropyLoss(cast(matMul(hidden as Tensor, out as Tensor), "f32"), indices([1, 5]));
};

/** One attention block over [1, 6, 4] with dropout. */
const attention: Loss = ([table, weight, bias, out]) => {
  const x = gather(table as Tensor, indices([0, 1, 2, 3, 4, 5], [1, 6]));
  const scale = slice(bias as Tensor, [{ axis: 0, end: 4 }]);
  const [q, k, v, g] = split(matMul(layerNormalization(x, scale), weight as Tensor), 4, 2);
  const mask = cast(randomBernoulli(key(3), 0.8, [1, 6, 6]), x.dtype);
  const weights = mul(softmax(mul(matMul(q as Tensor, transpose(k as Tensor, [0, 2, 1])), 0.5)), mask);
  const y = matMul(mul(matMul(weights, v as Tensor), gelu(g as Tensor)), out as Tensor);
  return softmaxCrossEntropyLoss(cast(squeeze(y, [0]), "f32"), indices([5, 4, 3, 2, 1, 0]));
};

/** Value, gradients, and a step of descent with momentum. */
function training(loss: Loss, dtype: ComputeDType): Graph {
  const shapes = [[6, 4], [4, 16], [16], [4, 6]];
  const inputs = shapes.flatMap((shape, index) => [
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
    ["attention, checkpointed", checkpoint(attention)],
    ["lstm, checkpointed", checkpoint(lstm)],
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
    const passes = [
      eliminateDeadCode,
      foldConstants,
      eliminateCommonSubexpressions,
      fuseSliceGradients,
      fuseWeightGradients,
      eliminateCommonSubexpressions,
      eliminateDeadCode,
      scheduleGraph,
    ];
    const once = passes.reduce((current, pass) => pass(current), graph);
    const again = passes.reduce((current, pass) => pass(current), once);
    expect(again.nodes.map(({ op }) => op)).toEqual(once.nodes.map(({ op }) => op));
  });
});
