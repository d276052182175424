/** Loops whose bodies read nothing from outside, for engines that do not take such bodies. */
import {
  bodiesOf,
  mapBodies,
  type OnnxGraph,
  type OnnxInitializer,
  type OnnxNode,
  onnxNode,
} from "@mp/onnx/write";

type Initializers = ReadonlyMap<string, OnnxInitializer>;

/** The graph with what bodies read from outside as values that they carry unchanged, or as constants of their own. */
export function withClosedBodies(graph: OnnxGraph, outer: Initializers = new Map()): OnnxGraph {
  const known = new Map([...outer, ...graph.initializers.map((one) => [one.name, one] as const)]);
  return { ...graph, nodes: graph.nodes.map((node) => closed(node, known)) };
}

function closed(node: OnnxNode, known: Initializers): OnnxNode {
  const [body] = bodiesOf(node);
  if (node.opType !== "Scan" || body === undefined) return node;
  const inner = withClosedBodies(body, known);
  const free = freeNames(inner);
  const constants = free.flatMap((name) => known.get(name) ?? []);
  const carried = free.filter((name) => !known.has(name));
  const unchanged = carried.map((name) => `${node.name}//${name}`);
  // Only names inside of the body change: the loop reads the outer ones.
  const renamed = renameReads(inner, new Map(carried.map((name, at) => [name, unchanged[at] as string])));
  const whole: OnnxGraph = {
    ...renamed,
    inputs: [...unchanged.map(untyped), ...renamed.inputs],
    outputs: [...unchanged.map((name) => untyped(`${name}//next`)), ...renamed.outputs],
    nodes: [
      ...renamed.nodes,
      ...unchanged.map((name) => onnxNode("Identity", [name], [`${name}//next`], { name: `${name}//next` })),
    ],
    initializers: [...renamed.initializers, ...constants],
  };
  return {
    ...node,
    inputs: [...carried, ...node.inputs],
    outputs: [...unchanged.map((name) => `${name}//last`), ...node.outputs],
    attributes: mapBodies(node.attributes, () => whole),
  };
}

const untyped = (name: string): OnnxGraph["inputs"][number] => ({ name, metadata: {} });

/** Names that a body reads and does not have. */
function freeNames({ inputs, outputs, nodes, initializers }: OnnxGraph): readonly string[] {
  const own = new Set([
    ...inputs.map(({ name }) => name),
    ...initializers.map(({ name }) => name),
    ...nodes.flatMap((node) => node.outputs),
  ]);
  const read = [...nodes.flatMap((node) => node.inputs), ...outputs.map(({ name }) => name)];
  return [...new Set(read)].filter((name) => name !== "" && !own.has(name));
}

function renameReads(graph: OnnxGraph, names: ReadonlyMap<string, string>): OnnxGraph {
  const renamed = (name: string): string => names.get(name) ?? name;
  return {
    ...graph,
    nodes: graph.nodes.map((node) => ({ ...node, inputs: node.inputs.map(renamed) })),
    outputs: graph.outputs.map((output) => ({ ...output, name: renamed(output.name) })),
  };
}
