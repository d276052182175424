import type { GraphBuilder } from "../graph/build/builder.js";
import type { AnyNode, GraphInput, Value, ValueType } from "../graph/graph.js";
import type { TracedGraph } from "./trace.js";

/**
 * Adds to a traced function what the enclosing trace knows about its captures: roles, and which are constants.
 * @param isCopied whether to copy a captured constant of that type into the function; other captures become inputs
 */
export function openedTo<R>(
  builder: GraphBuilder,
  traced: TracedGraph<R>,
  isCopied: (type: ValueType) => boolean,
): TracedGraph<R> {
  const { inputs: all, nodes, outputs } = traced.graph;
  const own = all.length - traced.captured.length;
  const constants: AnyNode[] = [];
  const inputs: GraphInput[] = [...all.slice(0, own)];
  const captured: Value[] = [];
  for (const [index, input] of all.slice(own).entries()) {
    const outer = traced.captured[index] as Value;
    const constant = isCopied(outer) ? constantBehind(builder, outer) : undefined;
    if (constant === undefined) {
      inputs.push({ ...input, role: builder.roleOf(outer) ?? input.role });
      captured.push(outer);
    } else {
      constants.push({ ...constant, outputs: [input.value] });
    }
  }
  return { ...traced, captured, graph: { inputs, nodes: [...constants, ...nodes], outputs } };
}

function constantBehind(builder: GraphBuilder, value: Value): AnyNode | undefined {
  let owner: GraphBuilder | undefined = builder;
  while (owner !== undefined && !owner.owns(value)) owner = owner.parent;
  return owner?.nodes.find((node) => node.op === "Constant" && node.outputs.includes(value));
}
