import { type AnyNode, type Graph, isNode, type Value } from "@mp/graph";

/** Emits the nodes of a graph, with `operands` for its inputs. @returns the values of the graph's outputs */
export function inline(
  graph: Graph,
  operands: readonly Value[],
  emit: (node: AnyNode, inputs: readonly Value[], attributes: AnyNode["attributes"]) => readonly Value[],
): readonly Value[] {
  const values = new Map<Value, Value>();
  const lookUp = (value: Value): Value => {
    const found = values.get(value);
    if (found === undefined) throw new Error("internal: a value is used before it is made");
    return found;
  };
  const define = (value: Value, result: Value | undefined): void => {
    if (result !== undefined) values.set(value, result);
  };
  graph.inputs.forEach(({ value }, index) => {
    define(value, operands[index]);
  });
  for (const node of graph.nodes) {
    const results = emit(node, node.inputs.map(lookUp), withoutLines(node));
    node.outputs.forEach((value, index) => {
      define(value, results[index]);
    });
  }
  return graph.outputs.map(({ value }) => lookUp(value));
}

/** The attributes without source lines in the origins of a body, because these lines belong to the reader's source. */
function withoutLines(node: AnyNode): AnyNode["attributes"] {
  if (!isNode(node, "Scan")) return node.attributes;
  const { body } = node.attributes;
  const nodes = body.nodes.map((inner) => {
    const { line: _left, ...origin } = inner.origin;
    return { ...inner, origin, attributes: withoutLines(inner) } as AnyNode;
  });
  return { ...node.attributes, body: { ...body, nodes } };
}
