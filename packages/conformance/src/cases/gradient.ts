/** Compiled gradient graphs of every differentiable op, in every floating dtype, compared with the oracle. */
import {
  type Backend,
  type ComputeDType,
  elementCount,
  type Graph,
  grad,
  type Op,
  type Tensor,
  tensor,
} from "@mp/graph";
import { add, cast, constant, mul, reduceSum } from "@mp/graph/ops";
import { evaluate } from "@mp/graph/reference";
import { compareAtScale, graphBudget } from "../compare/graph-allowance.js";
import type { ConformanceCase } from "../conformance-case.js";
import { fail } from "../expectations.js";
import { freshGraph } from "../fresh.js";
import { hostData, toNumbers } from "../host-data.js";
import type { GradientSample, Gradients } from "../samples/gradient-sample.js";
import { opRows } from "../samples/op-table.js";
import { traceGraph } from "../traced-graph.js";
import { runGraph, type Tensors } from "./kinds/graph-case.js";
import { scriptedCase } from "./kinds/scripted-case.js";

/** Sums the elements with unequal weights, so that an exchange of two gradients shows. */
function sumWithWeights(x: Tensor): Tensor {
  const size = elementCount(x.shape, "weights");
  const weights = Float32Array.from({ length: size }, (_, at) => 0.5 + ((at * 5) % 7) / 8);
  return reduceSum(mul(cast(x, "f32"), constant(tensor(weights, x.shape))));
}

/** The gradients of Σ weights · fn(inputs) with respect to all inputs, and the result if `withResult`. */
function gradientGraph({ fn, points }: GradientSample, dtype: ComputeDType, withResult: boolean): Graph {
  const types = Object.fromEntries(points.map(({ shape }, index) => [`x${index}`, { dtype, shape }]));
  return traceGraph(types, (inputs) => {
    const loss = (all: readonly Tensor[]): Tensor => sumWithWeights(fn(...all));
    const gradients = grad(loss)(Object.values(inputs));
    const named = gradients.map((gradient, index) => [`gradient of operand ${index}`, gradient] as const);
    return {
      ...(withResult ? { result: fn(...Object.values(inputs)) } : {}),
      ...Object.fromEntries(named),
    };
  });
}

async function checkGradients(backend: Backend, graph: Graph, inputs: Tensors): Promise<void> {
  const want = evaluate(graph, inputs);
  const got = await runGraph(backend, freshGraph(graph), inputs);
  const budget = graphBudget(backend.manifest, graph);
  for (const [name, tensorWanted] of Object.entries(want)) {
    if (!toNumbers(tensorWanted).every(Number.isFinite)) fail(`${name} is not finite, on the oracle itself`);
    const mismatch = compareAtScale(got[name], tensorWanted, budget);
    if (mismatch !== undefined) fail(`${name} ${mismatch}`);
  }
}

/** The sample whose function is the weighted sum of the gradients, for second derivatives. */
const differentiate = ({ behaviour, fn, points }: GradientSample): GradientSample => ({
  behaviour: `${behaviour}-twice`,
  fn: (...inputs) =>
    grad((all: readonly Tensor[]) => sumWithWeights(fn(...all)))(inputs)
      .map(sumWithWeights)
      .reduce((sum, part) => add(sum, part)),
  points,
});

/** A case of the gradients of a function, with its result on request. */
export function gradientCase(
  id: string,
  dtype: ComputeDType,
  sample: GradientSample,
  withResult = false,
): ConformanceCase {
  let traced: Graph | undefined;
  const graph = (): Graph => {
    traced ??= gradientGraph(sample, dtype, withResult);
    return traced;
  };
  return scriptedCase(id, graph, (backend) => {
    const inputs = sample.points.map(
      ({ shape, data }, index) => [`x${index}`, hostData(dtype, data, shape)] as const,
    );
    return checkGradients(backend, graph(), Object.fromEntries(inputs));
  });
}

/** Adds second derivatives in f32; in half dtypes second derivatives are mostly rounding error. */
const gradientSamples = (row: readonly GradientSample[], dtype: ComputeDType): readonly GradientSample[] => [
  ...row,
  ...(dtype === "f32" ? row.filter(({ isTwice }) => isTwice === true).map(differentiate) : []),
];

export const gradientCases: readonly ConformanceCase[] = (Object.keys(opRows) as Op[]).flatMap((op) => {
  const row: Gradients = opRows[op].gradients;
  if ("none" in row) return [];
  return (["f32", "f16", "bf16"] as const).flatMap((dtype) =>
    gradientSamples(row, dtype).map((sample) =>
      gradientCase(`gradient/${op}-${dtype}/${sample.behaviour}`, dtype, sample),
    ),
  );
});
