import { type Graph, prepareGraph, type Tensor, type TensorTree, traceInto, type ValueType } from "@mp/graph";

/** Traces a function of named inputs and simplifies the graph as core does before a backend gets it. */
export function traceGraph(
  types: Readonly<Record<string, ValueType>>,
  body: (inputs: Readonly<Record<string, Tensor>>) => TensorTree,
): Graph {
  const names = Object.keys(types);
  const inputs = names.map((name) => ({ name, role: "batch" as const, type: types[name] as ValueType }));
  const { graph } = traceInto(inputs, (tensors) =>
    body(Object.fromEntries(names.map((name, index) => [name, tensors[index] as Tensor]))),
  );
  return prepareGraph(graph);
}
