import { bodiesOf, type OnnxGraph, type OnnxNode, type OnnxValueInfo } from "../model.js";
import { quote } from "../problem.js";
import { invalid } from "./invalid.js";

/** All names that a node and the nodes in its bodies read, including names that a body itself defines. */
export function readBy(node: OnnxNode): readonly string[] {
  const inner = bodiesOf(node).flatMap(({ nodes, outputs }) => [
    ...nodes.flatMap(readBy),
    ...outputs.map(({ name }) => name),
  ]);
  return [...node.inputs, ...inner];
}

/** Number of last values that an error suggests as outputs, since heads are removed near a graph's end. */
const LAST_VALUES = 6;

const lastValues = ({ nodes }: OnnxGraph): string =>
  nodes
    .filter(({ opType }) => opType !== "Constant")
    .flatMap((node) => node.outputs.filter((name) => name !== ""))
    .slice(-LAST_VALUES)
    .map(quote)
    .join(", ");

/**
 * The part of a graph that computes these values. Inputs and initializers that it does not read are left out.
 * @throws MP_INVALID_ARGUMENT for a name that the graph does not have
 */
export function subgraph(graph: OnnxGraph, outputs: readonly string[]): OnnxGraph {
  const declared = new Map(graph.outputs.map((output) => [output.name, output]));
  const needed = new Set(outputs);
  const nodes: OnnxNode[] = [];
  for (const node of graph.nodes.toReversed()) {
    if (!node.outputs.some((name) => name !== "" && needed.has(name))) continue;
    nodes.unshift(node);
    for (const name of readBy(node)) needed.add(name);
  }
  const made = new Set([
    ...nodes.flatMap((node) => node.outputs),
    ...graph.inputs.map(({ name }) => name),
    ...graph.initializers.map(({ name }) => name),
  ]);
  const missing = outputs.find((name) => !made.has(name));
  if (missing !== undefined)
    invalid(
      `the model has no value ${quote(missing)}; its last values are ${lastValues(graph)}; \`npx @mp/doctor inspect FILE\` lists them all`,
      { output: missing },
    );
  return {
    ...graph,
    nodes,
    inputs: graph.inputs.filter(({ name }) => needed.has(name)),
    initializers: graph.initializers.filter(({ name }) => needed.has(name)),
    outputs: outputs.map((name): OnnxValueInfo => declared.get(name) ?? { name, metadata: {} }),
  };
}
