import type { Backend, BackendManifest, HostTensor } from "@mp/core";
import { type CompileOptions, type Graph, isComputeFloat } from "@mp/core/graph";
import { evaluate } from "@mp/core/reference";
import type { Allowance } from "./compare/allowance.js";
import { compareTensors } from "./compare/compare-tensors.js";
import type { CaseContext, ConformanceCase } from "./conformance-case.js";
import { expectCode, expectThat, fail } from "./expectations.js";
import { fresh, freshGraph } from "./fresh.js";
import { expectUntouched } from "./held-data.js";
import { flushed } from "./samples/host-data.js";
import { unsupportedGraph } from "./support.js";

export type Tensors = Readonly<Record<string, HostTensor>>;

/** Compiles, runs once, disposes. */
export async function runGraph(
  backend: Backend,
  graph: Graph,
  inputs: Tensors,
  options: CompileOptions = {},
): Promise<Tensors> {
  const executable = await backend.compile(graph, options);
  try {
    return await executable.run(inputs);
  } finally {
    await executable.dispose();
  }
}

/** A graph with its inputs, and how near each output must be to the oracle's. */
export interface GraphCheck {
  readonly graph: Graph;
  readonly inputs: Tensors;
  readonly allowance: (manifest: BackendManifest, output: string) => Allowance;
  /** The name of an output in messages; default the output's own name. */
  readonly describe?: (output: string) => string;
  /** Expected results that follow from first principles, instead of the oracle's. */
  readonly want?: Tensors;
}

/** A graph must be refused completely, at compilation, with MP_UNSUPPORTED and a message that says what is missing. */
export async function expectRefused(backend: Backend, graph: Graph): Promise<void> {
  const error = await expectCode(
    "MP_UNSUPPORTED",
    "compile of a graph that the manifest calls unsupported",
    () => backend.compile(freshGraph(graph)),
  );
  const words = graph.nodes.flatMap((node) => [node.op, ...node.outputs.map(({ dtype }) => dtype)]);
  const named = [...words, ...graph.inputs.map(({ value }) => value.dtype)];
  expectThat(
    named.some((word) => error.message.includes(word)),
    `the refusal names neither an op nor a dtype: ${error.message}`,
  );
}

/** A case that compares the backend's results with the oracle's. The check is built when the case runs. */
export function graphCase(
  id: string,
  build: (context: Pick<CaseContext, "random">) => GraphCheck,
): ConformanceCase {
  // The ops and dtypes of a graph do not depend on the data.
  let shape: Graph | undefined;
  const graphOf = (): Graph => {
    shape ??= build({ random: { next: () => 0.5, integer: (low) => low, between: (low) => low } }).graph;
    return shape;
  };
  return {
    id,
    unsupported: (manifest) => unsupportedGraph(manifest, graphOf()),
    refuses: (backend) => expectRefused(backend, graphOf()),
    run: (backend, context) => checkGraph(backend, build(context), context),
  };
}

async function checkGraph(
  backend: Backend,
  { graph, inputs, allowance, describe, want }: GraphCheck,
  { seed }: Pick<CaseContext, "seed">,
): Promise<void> {
  const fed = Object.fromEntries(
    Object.entries(inputs).map(([name, tensor]) => {
      const { dtype } = tensor;
      const flushes = isComputeFloat(dtype) && backend.manifest.subnormals[dtype] === "flush";
      return [name, flushes ? flushed(tensor) : tensor];
    }),
  );
  const kept = fresh(fed);
  const wanted = want ?? evaluate(graph, kept);
  const got = await runGraph(backend, graph, fed);
  for (const [name, tensor] of Object.entries(fed))
    expectUntouched(tensor, kept[name] as HostTensor, describe?.(name) ?? name);
  const extra = Object.keys(got).find((name) => !(name in wanted));
  if (extra !== undefined) fail(`run gives an output "${extra}" that the graph does not have`);
  for (const [name, tensor] of Object.entries(wanted)) {
    const mismatch = compareTensors(got[name], tensor, allowance(backend.manifest, name));
    if (mismatch !== undefined) fail(`${describe?.(name) ?? name} ${mismatch}; seed ${seed}`);
  }
}
