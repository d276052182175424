import { tensor } from "@mp/graph";
import { int, type OnnxGraph, type OnnxInitializer, onnxNode } from "@mp/onnx/write";

/**
 * Replaces each Identity whose output is a graph output by a Reshape. A reader that drops Identity nodes would lose the
 * output's name, or the operand's name if the operand is a graph input or output too. Lists outputs in f16 and
 * bool first, because the engine calls them f32 and u8 if a cast of them to that dtype is an output before them.
 */
export function withResultsApart(graph: OnnxGraph): OnnxGraph {
  const types = new Map(graph.outputs.map(({ name, type }) => [name, type]));
  const shapes: OnnxInitializer[] = [];
  const nodes = graph.nodes.map((node) => {
    const [output = ""] = node.outputs;
    const type = types.get(output);
    // The reader takes an empty constant for one element.
    if (type === undefined || node.opType !== "Identity" || type.shape?.includes(0)) return node;
    const sizes = BigInt64Array.from((type.shape ?? []).map(BigInt));
    // No generated name holds two slashes.
    shapes.push({ name: `${output}//shape`, tensor: tensor(sizes, [sizes.length]) });
    const attributes = { allowzero: int(1) };
    return onnxNode("Reshape", [...node.inputs, `${output}//shape`], node.outputs, { ...node, attributes });
  });
  const place = (name: string): number => (/^(f16|bool)$/.test(types.get(name)?.elementType ?? "") ? 0 : 1);
  const outputs = graph.outputs.toSorted((one, other) => place(one.name) - place(other.name));
  return { ...graph, nodes, outputs, initializers: [...graph.initializers, ...shapes] };
}
