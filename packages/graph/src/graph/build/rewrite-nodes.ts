import { type AnyNode, type Graph, isNode, type Value, type ValueType } from "../graph.js";
import { GraphBuilder } from "./builder.js";
import { GraphCopy } from "./graph-copy.js";

/** Replaces a graph's nodes one by one; inputs and outputs keep their names. */
export interface Rewriting {
  /** The type of an input in the new graph. Default: its type in the old graph. */
  readonly declare?: (input: Value) => ValueType;
  /** Emits a node's replacement from its operands' counterparts; returns the counterparts of its results. */
  readonly visit: (builder: GraphBuilder, node: AnyNode, inputs: readonly Value[]) => readonly Value[];
  /** Maps the counterpart of an output to the output of the new graph. Default: the counterpart itself. */
  readonly leave?: (builder: GraphBuilder, output: Value, counterpart: Value, index: number) => Value;
  /** Called for each node of the new graph outside of loop bodies, with its name and the node that it replaces. */
  readonly onNode?: ((made: string, source: AnyNode) => void) | undefined;
}

/** Replaces each node by the nodes that `visit` emits for it. Counts a loop as one node and keeps its body. */
export function rewriteNodes(graph: Graph, { declare, visit, leave, onNode }: Rewriting): Graph {
  const builder = new GraphBuilder();
  const copy = new GraphCopy(graph, builder);
  for (const { name, role, value } of graph.inputs)
    copy.values.set(value, builder.input(name, declare?.(value) ?? value, role));
  for (const node of graph.nodes) {
    const from = builder.nodes.length;
    copy.replace(node, visit(builder, node, copy.counterparts(node.inputs)));
    if (onNode === undefined) continue;
    for (const made of builder.nodes.slice(from)) onNode(made.name, node);
  }
  const outputs = graph.outputs.map(({ name, value }, index) => {
    const made = copy.counterpart(value);
    return [name, leave?.(builder, value, made, index) ?? made] as const;
  });
  return builder.finish(new Map(outputs));
}

/** Rewrites the bodies of loops. Returns, for each loop whose body changes, the same node with the new body. */
export function rewriteBodies(graph: Graph, rewrite: (body: Graph) => Graph): ReadonlyMap<AnyNode, AnyNode> {
  const rewritten = new Map<AnyNode, AnyNode>();
  for (const node of graph.nodes) {
    if (!isNode(node, "Scan")) continue;
    const body = rewrite(node.attributes.body);
    if (body === node.attributes.body) continue;
    rewritten.set(node, { ...node, attributes: { ...node.attributes, body } });
  }
  return rewritten;
}
