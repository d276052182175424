import {
  type AnyNode,
  type Backend,
  type BackendManifest,
  type CompileOptions,
  type DType,
  type Graph,
  GraphBuilder,
  type Handle,
  type HostTensor,
  isComputeFloat,
  isNode,
  type RunInput,
  rangeValues,
} from "@mp/graph";
import { evaluate } from "@mp/graph/reference";
import { type Allowance, EXACT } from "../../compare/allowance.js";
import { compareTensors } from "../../compare/compare-tensors.js";
import type { CaseContext, ConformanceCase } from "../../conformance-case.js";
import { expectCode, expectThat, fail } from "../../expectations.js";
import { fresh, freshGraph } from "../../fresh.js";
import { expectUntouched } from "../../held-data.js";
import { flush, withoutData } from "../../host-data.js";
import { type RandomSource, randomSource } from "../../random-source.js";
import { holdsShortIntegers, isBeyondShort } from "../../short-integers.js";
import { supportsAll, unsupportedGraph } from "../../support.js";

export type Tensors = Readonly<Record<string, HostTensor>>;

type Inputs = Readonly<Record<string, RunInput>>;

/** Compiles a graph, runs it on each of the inputs and disposes of the executable. */
async function runOnEach<G extends readonly Inputs[]>(
  backend: Backend,
  graph: Graph,
  given: G,
  options: CompileOptions = {},
): Promise<{ readonly [I in keyof G]: Tensors }> {
  const executable = await backend.compile(graph, options);
  try {
    const results: Tensors[] = [];
    for (const inputs of given) results.push(await executable.run(inputs));
    return results as { readonly [I in keyof G]: Tensors };
  } finally {
    await executable.dispose();
  }
}

/** Compiles a graph, runs it once and disposes of the executable. */
export async function runGraph(backend: Backend, graph: Graph, inputs: Inputs): Promise<Tensors> {
  return (await runOnEach(backend, graph, [inputs] as const))[0];
}

/** A graph with its inputs, and how far each output may be from the oracle's. */
export interface GraphCheck {
  readonly graph: Graph;
  readonly inputs: Tensors;
  readonly allowance: (manifest: BackendManifest, output: string) => Allowance;
  /** The name of an output in messages; default the output's own name. */
  readonly describe?: (output: string) => string;
  /** Expected results from first principles, in place of the oracle's. */
  readonly want?: Tensors;
  /** Values of inputs that come from the slots of a state, each slot named like its input. */
  readonly slots?: Tensors;
  /** Whether half of the inputs are handles. They must keep what was uploaded: engines may give kernels their memory. */
  readonly isUploaded?: boolean;
  /** Inputs of a second run of the same executable, which is compared with the oracle, too. */
  readonly again?: Tensors;
}

/** The graph as the body of a loop of two steps, with the same inputs; each output has the results of both. */
export function looped(body: Graph): Graph {
  const builder = new GraphBuilder();
  const inputs = body.inputs.map(({ name, value }) => builder.input(name, value, "batch"));
  const twice = { carries: 0, sequences: 0, length: 2, reverse: false, saved: 0 };
  const results = builder.emit("Scan", inputs, { body, ...twice });
  return builder.finish(new Map(results.map((value, at) => [body.outputs[at]?.name ?? "", value])));
}

/** Checks that compilation refuses a graph with MP_UNSUPPORTED and says what is missing, also as a loop's body. */
export async function expectRefused(backend: Backend, graph: Graph): Promise<void> {
  const error = await expectCode(
    "MP_UNSUPPORTED",
    "compile of a graph that the manifest calls unsupported",
    () => backend.compile(freshGraph(graph)),
  );
  await expectCode("MP_UNSUPPORTED", "compile of a loop whose body the manifest calls unsupported", () =>
    backend.compile(looped(freshGraph(graph))),
  );
  const words = allNodes(graph).flatMap((node) => [node.op, ...node.outputs.map(({ dtype }) => dtype)]);
  const named = [...words, ...graph.inputs.map(({ value }) => value.dtype)];
  expectThat(
    named.some((word) => error.message.includes(word)),
    `the refusal names neither an op nor a dtype: ${error.message}`,
  );
}

/** All nodes, including those in bodies of loops. */
const allNodes = ({ nodes }: Graph): readonly AnyNode[] =>
  nodes.flatMap((node) => (isNode(node, "Scan") ? [node, ...allNodes(node.attributes.body)] : [node]));

/** A case that compares the backend's results with the oracle's. The check is built when the case runs. */
export function graphCase(
  id: string,
  build: (context: Pick<CaseContext, "random">) => GraphCheck,
): ConformanceCase {
  // The ops and dtypes of a graph do not depend on the data.
  let shape: Graph | undefined;
  const sketch = (): Graph => {
    shape ??= withoutData(() => build({ random: randomSource(0, id) })).graph;
    return shape;
  };
  return {
    id,
    unsupported: (manifest) => (supportsAll(manifest) ? undefined : unsupportedGraph(manifest, sketch())),
    refuses: (backend) => expectRefused(backend, sketch()),
    run: (backend, context) => checkGraph(backend, build(context), context),
  };
}

/** Answers of a backend's manifest about a graph or dtype. */
export interface Fit {
  readonly supports: (graph: Graph) => boolean;
  readonly flushes: (dtype: DType) => boolean;
}

/** Builds graphs from the entries of a table that a backend supports. */
export interface Fitted {
  /** Whether the backend supports any entry. */
  readonly fits: (fit: Fit) => boolean;
  readonly build: (fit: Fit, random: RandomSource) => Iterable<GraphCheck>;
}

/** `graphCase` for graphs that leave out what a backend does not support. */
export function partialCase(id: string, { fits, build }: Fitted): ConformanceCase {
  const fitOf = (manifest: BackendManifest): Fit => ({
    supports: (graph) => unsupportedGraph(manifest, graph) === undefined,
    flushes: (dtype) => isComputeFloat(dtype) && manifest.subnormals[dtype] === "flush",
  });
  const first = (): Graph => {
    const fit = { supports: () => true, flushes: () => false };
    const check = withoutData(() => {
      const [sketch] = build(fit, randomSource(0, id));
      return sketch;
    });
    if (check === undefined) throw new Error(`internal: ${id} is empty`);
    return check.graph;
  };
  return {
    id,
    unsupported: (manifest) => (fits(fitOf(manifest)) ? undefined : unsupportedGraph(manifest, first())),
    refuses: (backend) => expectRefused(backend, first()),
    run: async (backend, { random, seed }) => {
      for (const check of build(fitOf(backend.manifest), random)) await checkGraph(backend, check, { seed });
    },
  };
}

const graphConstants = ({ nodes }: Graph): readonly HostTensor[] =>
  nodes.flatMap((node) => {
    if (isNode(node, "Constant")) return [node.attributes.value];
    if (isNode(node, "Range")) return [rangeValues(node)];
    return isNode(node, "Scan") ? graphConstants(node.attributes.body) : [];
  });

async function runWithSlots(
  backend: Backend,
  graph: Graph,
  inputs: Tensors,
  slots: Tensors,
): Promise<Tensors> {
  const state = await backend.createState(slots);
  try {
    const bindings = Object.keys(slots).map((name) => ({ slot: name, input: name }));
    return (await runOnEach(backend, graph, [inputs] as const, { state, bindings }))[0];
  } finally {
    await state.dispose();
  }
}

/** Runs a graph on handles and arrays in turn, and checks what the handles hold afterwards. */
async function runOnHandles(
  backend: Backend,
  graph: Graph,
  inputs: Tensors,
  describe: (input: string) => string,
): Promise<Tensors> {
  const handles: Record<string, Handle> = {};
  // First and last of each four, so that of two operands it is either one.
  for (const [at, [name, tensor]] of Object.entries(inputs).entries())
    if ((at + (at >> 1)) % 2 === 0) handles[name] = await backend.upload(tensor);
  const results = await runGraph(backend, graph, { ...inputs, ...handles });
  for (const [name, handle] of Object.entries(handles)) {
    const mismatch = compareTensors(await backend.download(handle), inputs[name] as HostTensor, EXACT);
    if (mismatch !== undefined) fail(`${describe(name)}, an operand, after the run ${mismatch}`);
    handle.dispose();
  }
  return results;
}

export async function checkGraph(
  backend: Backend,
  { graph, inputs, allowance, describe, want, slots, isUploaded = false, again }: GraphCheck,
  { seed }: Pick<CaseContext, "seed">,
): Promise<void> {
  const asRead = (tensors: Tensors): Tensors =>
    Object.fromEntries(
      Object.entries(tensors).map(([name, tensor]) => {
        const { dtype } = tensor;
        const flushes = isComputeFloat(dtype) && backend.manifest.subnormals[dtype] === "flush";
        return [name, flushes ? flush(tensor) : tensor];
      }),
    );
  const fed = asRead(inputs);
  const kept = fresh(fed);
  const held = asRead(slots ?? {});
  const wanted = want ?? evaluate(graph, { ...kept, ...fresh(held) });
  const isShort = holdsShortIntegers(backend.manifest);
  if (isShort && [...Object.values({ ...fed, ...held }), ...graphConstants(graph)].some(isBeyondShort)) {
    await expectCode(
      "MP_OUT_OF_RANGE",
      "a run on i64 beyond i32, which the manifest says it is stored as",
      () => (slots === undefined ? runGraph(backend, graph, fed) : runWithSlots(backend, graph, fed, held)),
    );
    return;
  }
  const other = again && asRead(again);
  const [got, gotAgain] = isUploaded
    ? [await runOnHandles(backend, graph, fed, (name) => describe?.(name) ?? name)]
    : slots === undefined
      ? await runOnEach(backend, graph, other === undefined ? [fed] : [fed, other])
      : [await runWithSlots(backend, graph, fed, held)];
  for (const [name, tensor] of Object.entries(fed))
    expectUntouched(tensor, kept[name] as HostTensor, describe?.(name) ?? name);
  expectResults(got, wanted);
  if (other !== undefined) expectResults(gotAgain, evaluate(graph, other), " of the second run");

  function expectResults(results: Tensors = {}, right: Tensors, run = ""): void {
    const extra = Object.keys(results).find((name) => !(name in right));
    if (extra !== undefined) fail(`run gives an output "${extra}" that the graph does not have`);
    for (const [name, tensor] of Object.entries(right)) {
      // If an engine stores i64 as i32, its results beyond i32 are unspecified.
      if (isShort && isBeyondShort(tensor)) continue;
      const mismatch = compareTensors(results[name], tensor, allowance(backend.manifest, name));
      if (mismatch !== undefined) fail(`${describe?.(name) ?? name}${run} ${mismatch}; seed ${seed}`);
    }
  }
}
