import { invalid } from "../errors.js";
import type { Graph, Origin } from "../graph/graph.js";
import { asTensor } from "./emit.js";
import { Tensor } from "./tensor.js";
import { currentBuilder, joinPaths, originHere } from "./trace.js";

/**
 * Calls a graph as a function of tensors. For example, a training loss can call a model from a file. The graph's nodes
 * are added to the current trace; the enclosing policy casts them, and they are differentiated like any other nodes.
 * Arguments are named like the graph's inputs, results like its outputs; `applyGraph<"y">(…)` types the result names.
 * @throws MP_INVALID_ARGUMENT outside a traced function, for a missing or unknown input
 * @throws MP_SHAPE_MISMATCH, MP_DTYPE_MISMATCH for a tensor of another type than the graph's input
 */
export function applyGraph<Outputs extends string = string>(
  graph: Graph,
  inputs: Readonly<Record<string, Tensor>>,
): Readonly<Record<Outputs, Tensor>> {
  const builder = currentBuilder("applyGraph");
  const names = graph.inputs.map(({ name }) => name);
  const refuse = (what: string): never => {
    throw invalid(`applyGraph: ${what}; the graph takes ${names.join(", ")}`);
  };
  for (const name of Object.keys(inputs)) if (!names.includes(name)) refuse(`there is no input "${name}"`);
  const values = names.map((name) => {
    if (!Object.hasOwn(inputs, name)) refuse(`input "${name}" is missing`);
    const what = `applyGraph: input "${name}"`;
    return Tensor.valueIn(asTensor(inputs[name], what), builder, what);
  });
  const here = originHere(builder);
  const pickNames = ({ scope, label }: Origin): Pick<Origin, "scope" | "label"> => ({
    scope: joinPaths(here.scope, scope),
    ...(here.label === undefined && label === undefined
      ? {}
      : { label: joinPaths(here.label ?? here.scope, label ?? scope) }),
  });
  const outputs = builder.inline(graph, values, (origin) => ({ ...origin, ...here, ...pickNames(origin) }));
  return Object.fromEntries(
    graph.outputs.map(({ name }, index) => [name, Tensor.of(outputs[index] as (typeof outputs)[number])]),
  ) as Readonly<Record<Outputs, Tensor>>;
}
