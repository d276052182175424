/** Compiled gradient graphs of every differentiable op, in every floating dtype, compared with the oracle. */
import {
  type Backend,
  type BackendManifest,
  type ComputeDType,
  elementCount,
  type Graph,
  GraphBuilder,
  grad,
  type HostTensor,
  type Op,
  type Tensor,
  tensor,
  type Value,
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
import { unsupportedGraph } from "../support.js";
import { traceGraph } from "../traced-graph.js";
import { expectRefused, runGraph, type Tensors } from "./kinds/graph-case.js";

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

/** The sample whose function is the weighted sum of the gradients, for second derivatives. */
const differentiate = ({ behaviour, fn, points }: GradientSample): GradientSample => ({
  behaviour: `${behaviour}-twice`,
  fn: (...inputs) =>
    grad((all: readonly Tensor[]) => sumWithWeights(fn(...all)))(inputs)
      .map(sumWithWeights)
      .reduce((sum, part) => add(sum, part)),
  points,
});

/** A sample's graph, and its inputs. */
type Traced = readonly [behaviour: string, graph: Graph, inputs: () => Tensors];

function trace(sample: GradientSample, dtype: ComputeDType, withResult: boolean): Traced {
  const inputs = (): Tensors =>
    Object.fromEntries(sample.points.map(({ shape, data }, at) => [`x${at}`, hostData(dtype, data, shape)]));
  return [sample.behaviour, gradientGraph(sample, dtype, withResult), inputs];
}

/** Runs the graphs of all samples as one, since engines take long for each, and compares each with its own budget. */
async function checkGradients(backend: Backend, traced: readonly Traced[]): Promise<void> {
  const builder = new GraphBuilder();
  const results = new Map<string, Value>();
  const fed: Record<string, HostTensor> = {};
  for (const [behaviour, graph, inputs] of traced) {
    const operands = graph.inputs.map(({ name, value }) =>
      builder.input(`${behaviour} ${name}`, value, "batch"),
    );
    for (const [at, value] of builder.inline(graph, operands).entries())
      results.set(`${behaviour} ${graph.outputs[at]?.name}`, value);
    for (const [name, given] of Object.entries(inputs())) fed[`${behaviour} ${name}`] = given;
  }
  const got = await runGraph(backend, freshGraph(builder.finish(results)), fed);
  for (const [behaviour, graph, inputs] of traced) {
    const budget = graphBudget(backend.manifest, graph);
    for (const [name, want] of Object.entries(evaluate(graph, inputs()))) {
      const what = `${behaviour}: ${name}`;
      if (!toNumbers(want).every(Number.isFinite)) fail(`${what} is not finite, on the oracle itself`);
      const mismatch = compareAtScale(got[`${behaviour} ${name}`], want, budget);
      if (mismatch !== undefined) fail(`${what} ${mismatch}`);
    }
  }
}

/** A case of the gradients of functions, with their results on request. Leaves out what a backend does not support. */
export function gradientCase(
  id: string,
  dtype: ComputeDType,
  samples: readonly GradientSample[],
  withResult = false,
): ConformanceCase {
  let kept: readonly Traced[] | undefined;
  const all = (): readonly Traced[] => {
    kept ??= samples.map((sample) => trace(sample, dtype, withResult));
    return kept;
  };
  const first = (): Graph => (all()[0] as Traced)[1];
  const supported = (manifest: BackendManifest): readonly Traced[] =>
    all().filter(([, graph]) => unsupportedGraph(manifest, graph) === undefined);
  return {
    id,
    unsupported: (manifest) =>
      supported(manifest).length > 0 ? undefined : unsupportedGraph(manifest, first()),
    refuses: (backend) => expectRefused(backend, first()),
    run: (backend) => checkGradients(backend, supported(backend.manifest)),
  };
}

/** Adds second derivatives in f32; in half dtypes second derivatives are mostly rounding error. */
const gradientSamples = (row: readonly GradientSample[], dtype: ComputeDType): readonly GradientSample[] => [
  ...row,
  ...(dtype === "f32" ? row.filter(({ isTwice }) => isTwice === true).map(differentiate) : []),
];

export const gradientCases: readonly ConformanceCase[] = (Object.keys(opRows) as Op[]).flatMap((op) => {
  const row: Gradients = opRows[op].gradients;
  if ("none" in row) return [];
  return (["f32", "f16", "bf16"] as const).map((dtype) =>
    gradientCase(`gradient/${op}-${dtype}/every-behavior`, dtype, gradientSamples(row, dtype)),
  );
});
