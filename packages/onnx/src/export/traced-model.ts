import { autocast, type CastingPolicy, type Traced } from "@mp/core";
import {
  type Graph,
  type HostTensor,
  type InputRole,
  isHostTensor,
  isTensor,
  type Key,
  key,
  MpError,
  mapTree,
  randomNodeIn,
  type Tensor,
  type TensorTree,
  type Tree,
  traceInto,
  type ValueType,
} from "@mp/graph";
import { quote } from "../problem.js";
import { type FileNames, fileNames } from "../trainable/names-in-file.js";
import { invalid } from "./export-options.js";

/** The context of an exported function: dropout does nothing, and statistics are only read. */
export interface ExportContext<S> {
  readonly training: false;
  readonly key: Key;
  /** The running statistics given to `exportOnnx`. */
  readonly modelState: Traced<S>;
}

/** A function to export; it takes the parameters, the inputs by name, and a context. */
export type ExportFunction<P, S, I> = (
  params: Traced<P>,
  inputs: { readonly [K in keyof I]: Tensor },
  context: ExportContext<S>,
) => TensorTree;

/**
 * A layer to export. `input` is a tensor, or several tensors by name; a model of `fromOnnx` gets its inputs
 * under their names in the file. A layer with `initState` returns its outputs and the next statistics.
 */
export interface ExportLayer {
  apply(params: never, input: never, context: never): unknown;
  initState?(): unknown;
}

/** A function or layer to export, with any types of parameters, inputs and statistics. */
export type AnyExported = ExportFunction<never, never, never> | ExportLayer;

export interface Weights {
  readonly params: Tree<HostTensor>;
  readonly state: Tree<HostTensor>;
}

/** A traced model. The last inputs of the graph are the weights; the inputs of the model come before. */
export interface TracedModel {
  readonly graph: Graph;
  readonly weights: readonly HostTensor[];
}

type Inputs = ReadonlyMap<string, ValueType>;

/** @throws whatever the model throws; MP_UNSUPPORTED for a model that draws random numbers */
export function traceModel(
  model: AnyExported,
  weights: Weights,
  inputs: Inputs,
  policy: CastingPolicy,
): TracedModel {
  const names = new Set(inputs.keys());
  const declared = [...inputs].map(([name, type]) => ({ name, role: "batch" as InputRole, type }));
  const tensors: HostTensor[] = [];
  const paths: string[] = [];
  const file = fileNames.get(model);
  /** Declares each leaf of a tree as an input. @returns a tree with the indices of the inputs as leaves */
  const declare = (
    tree: Tree<HostTensor>,
    group: string,
    { role, given }: { readonly role: InputRole; readonly given: FileNames["parameters"] | undefined },
  ): unknown =>
    mapTree(
      tree,
      isHostTensor,
      (leaf, path) => {
        const wanted = given?.get(path) ?? path;
        const name = wanted === "" || names.has(wanted) ? freeName(`${group}/${path}`, names) : wanted;
        names.add(name);
        tensors.push(leaf);
        paths.push(`${group}/${path}`);
        declared.push({ name, role, type: { dtype: leaf.dtype, shape: leaf.shape } });
        return declared.length - 1;
      },
      group,
    );
  const places = [
    declare(weights.params, "params", { role: "parameter", given: file?.parameters }),
    declare(weights.state, "state", { role: "state", given: file?.statistics }),
  ] as const;
  const isPlace = (leaf: unknown): leaf is number => typeof leaf === "number";
  const { graph } = traceInto(declared, (given) => {
    const [params, state] = places.map((tree) => mapTree(tree, isPlace, (at) => given[at] as Tensor));
    const values = Object.fromEntries([...inputs.keys()].map((name, at) => [name, given[at] as Tensor]));
    // The model is not an argument, because trees among the arguments are rebuilt.
    const run = autocast(
      (params: unknown, values: Readonly<Record<string, Tensor>>, modelState: unknown) =>
        runModel(model, params, values, { training: false, key: key(0), modelState: modelState as never }),
      policy,
    );
    const result = run(params, values, state);
    return isTensor(result) ? { [file?.outputs[0] ?? "output"]: result } : result;
  });
  expectNoRandomness(graph);
  expectOutputs(graph, inputs);
  for (const { name } of graph.outputs) names.add(name);
  const given = new Set(graph.outputs.map(({ name }) => name));
  // Outputs are read by name, so a parameter with the name of an output gets another.
  const named = graph.inputs.map((input, at) =>
    given.has(input.name)
      ? { ...input, name: freeName(paths[at - inputs.size] ?? input.name, names) }
      : input,
  );
  return { graph: { ...graph, inputs: named }, weights: tensors };
}

/** Returns the wanted name, with a number appended if the name is taken, and claims it. */
export function freeName(wanted: string, taken: Set<string>): string {
  let name = wanted;
  for (let count = 1; taken.has(name); count++) name = `${wanted}~${count}`;
  taken.add(name);
  return name;
}

/** @throws MP_INVALID_ARGUMENT for a model without outputs, and for an output named like an input */
function expectOutputs({ outputs }: Graph, inputs: Inputs): void {
  if (outputs.length === 0) invalid("the model gives no tensor");
  const both = outputs.find(({ name }) => inputs.has(name));
  if (both === undefined) return;
  invalid(
    `${quote(both.name)} is the name of an input and of an output; give the input another, or return the outputs by name, { ${both.name === "output" ? "y" : "output"}: … }`,
    { name: both.name },
  );
}

function runModel(
  model: AnyExported,
  params: unknown,
  inputs: Readonly<Record<string, Tensor>>,
  context: ExportContext<never>,
): TensorTree {
  if (typeof model === "function") return model(params as never, inputs as never, context);
  const result = applyLayer(model, params, inputs, context);
  return (typeof model.initState === "function" ? (result as readonly unknown[])[0] : result) as TensorTree;
}

function applyLayer(
  layer: ExportLayer,
  params: unknown,
  inputs: Readonly<Record<string, Tensor>>,
  context: ExportContext<never>,
): unknown {
  const names = Object.keys(inputs);
  const isByName = fileNames.get(layer)?.inputs.join() === names.join() || names.length !== 1;
  const input = isByName ? inputs : Object.values(inputs)[0];
  try {
    return layer.apply(params as never, input as never, context as never);
  } catch (cause) {
    if (MpError.is(cause) || isByName || !(cause instanceof Error)) throw cause;
    throw new MpError(
      "MP_INVALID_ARGUMENT",
      `exportOnnx: the layer fails on a tensor, its only input: ${cause.message}; if it takes its input by name, pass (params, inputs, context) => layer.apply(params, inputs, context)`,
      { cause },
    );
  }
}

function expectNoRandomness(graph: Graph): void {
  const drawn = randomNodeIn(graph);
  if (drawn === undefined) return;
  throw new MpError(
    "MP_UNSUPPORTED",
    `exportOnnx: node ${quote(drawn)} draws random numbers, which would be the same at every run of the file`,
    { details: { node: drawn } },
  );
}
