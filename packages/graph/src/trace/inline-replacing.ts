import { GraphCopy } from "../graph/build/graph-copy.js";
import type { AnyNode, Graph } from "../graph/graph.js";
import { Tensor } from "./tensor.js";
import { currentBuilder } from "./trace.js";

/**
 * Appends a copy of a graph's nodes to the current trace and returns its outputs. If `visit` returns tensors, they
 * replace the node's results; otherwise the node is copied. What `visit` emits has the node's origin.
 */
export function inlineReplacing(
  graph: Graph,
  inputs: readonly Tensor[],
  visit: (node: AnyNode, operands: readonly Tensor[]) => readonly Tensor[] | undefined,
): readonly Tensor[] {
  const builder = currentBuilder("inline");
  const copy = new GraphCopy(graph, builder);
  graph.inputs.forEach(({ value, name }, index) => {
    copy.values.set(value, Tensor.valueIn(inputs[index] as Tensor, builder, name));
  });
  const { origin } = builder;
  try {
    for (const node of graph.nodes) {
      builder.origin = copy.origin(node);
      const results = visit(
        node,
        copy.counterparts(node.inputs).map((value) => Tensor.of(value)),
      );
      if (results === undefined) {
        copy.copy(node);
        continue;
      }
      copy.replace(
        node,
        results.map((each) => Tensor.valueIn(each, builder, node.op)),
      );
      copy.names.set(node.name, builder.nodes.at(-1)?.name ?? node.name);
    }
  } finally {
    builder.origin = origin;
  }
  return graph.outputs.map(({ value }) => Tensor.of(copy.counterpart(value)));
}
