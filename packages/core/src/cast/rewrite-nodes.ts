import { GraphBuilder } from "../graph/builder.js";
import type { AnyNode, Graph, Value } from "../graph/graph.js";
import { GraphCopy } from "../graph/graph-copy.js";

/** How a graph is rewritten node by node, into one with the same inputs and outputs. */
export interface Rewriting {
  /** Maps an input to its counterpart in the new graph. Default: the input itself. */
  readonly enter?: (builder: GraphBuilder, input: Value) => Value;
  /** Emits the replacement of a node from the counterparts of its operands; returns those of its results, in order. */
  readonly visit: (builder: GraphBuilder, node: AnyNode, inputs: readonly Value[]) => readonly Value[];
  /** Maps the counterpart of an output to the output of the new graph. Default: the counterpart itself. */
  readonly leave?: (builder: GraphBuilder, output: Value, counterpart: Value) => Value;
  /** Called with the name of each node of the new graph and the node that it is part of. */
  readonly onNode?: ((made: string, source: AnyNode) => void) | undefined;
}

/** The graph with each node replaced by what `visit` emits for it. Names of inputs and outputs stay. */
export function rewriteNodes(graph: Graph, { enter, visit, leave, onNode }: Rewriting): Graph {
  const builder = new GraphBuilder();
  const copy = new GraphCopy(graph, builder);
  copy.copyInputs();
  if (enter !== undefined)
    for (const [value, input] of [...copy.values]) copy.values.set(value, enter(builder, input));
  for (const node of graph.nodes) {
    const from = builder.nodes.length;
    copy.replace(node, visit(builder, node, copy.counterparts(node.inputs)));
    if (onNode === undefined) continue;
    for (const made of builder.nodes.slice(from)) onNode(made.name, node);
  }
  const outputs = graph.outputs.map(({ name, value }) => {
    const made = copy.counterpart(value);
    return [name, leave?.(builder, value, made) ?? made] as const;
  });
  return builder.finish(new Map(outputs));
}
