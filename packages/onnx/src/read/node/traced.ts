import { scope, type Tensor } from "@mp/core";
import { type AnyNode, type Graph, isNode, traceInto, type Value } from "@mp/core/graph";
import type { NodeReader } from "./node-reader.js";

/** A tensor for each value. */
type TensorsOf<V extends readonly Value[]> = { readonly [I in keyof V]: Tensor };

/** Applies a function of core to the operands, node by node in the graph that is being read. */
export function traced<const V extends readonly Value[]>(
  reader: NodeReader,
  operands: V,
  fn: (...operands: TensorsOf<V>) => Tensor,
): Value {
  const [result] = tracedAll(reader, operands, (...tensors) => [fn(...tensors)]);
  if (result === undefined) throw new Error("internal: a function without a result");
  return result;
}

/** `traced` of a function with several results. */
export function tracedAll<const V extends readonly Value[]>(
  reader: NodeReader,
  operands: V,
  fn: (...operands: TensorsOf<V>) => readonly Tensor[],
): readonly Value[] {
  const inputs = operands.map((type, index) => ({ name: `x${index}`, role: "batch" as const, type }));
  // Bodies of loops keep the origins of their nodes.
  const inScope = (tensors: readonly Tensor[]): readonly Tensor[] => {
    const run = (): readonly Tensor[] => fn(...(tensors as unknown as TensorsOf<V>));
    return reader.scope === "" ? run() : scope(reader.scope, run);
  };
  const { graph } = traceInto(inputs, inScope);
  return inlined(reader, graph, operands);
}

/** The nodes of a graph, once more in the one that is being read. */
export function inlined(reader: NodeReader, graph: Graph, operands: readonly Value[]): readonly Value[] {
  const values = new Map<Value, Value>();
  const known = (value: Value): Value => {
    const found = values.get(value);
    if (found === undefined) throw new Error("internal: a value is used before it is made");
    return found;
  };
  graph.inputs.forEach(({ value }, index) => {
    const operand = operands[index];
    if (operand !== undefined) values.set(value, operand);
  });
  for (const node of graph.nodes) {
    const results = reader.emit(node.op, node.inputs.map(known), attributesOf(node) as never);
    node.outputs.forEach((value, index) => {
      const result = results[index];
      if (result !== undefined) values.set(value, result);
    });
  }
  return graph.outputs.map(({ value }) => known(value));
}

/** A body's lines would be those of a call of the reader, which are not where the model comes from. */
function attributesOf(node: AnyNode): AnyNode["attributes"] {
  return isNode(node, "Scan")
    ? { ...node.attributes, body: withoutLines(node.attributes.body) }
    : node.attributes;
}

function withoutLines(graph: Graph): Graph {
  const nodes = graph.nodes.map((node) => {
    const { line: _left, ...origin } = node.origin;
    return { ...node, origin, attributes: attributesOf(node) } as AnyNode;
  });
  return { ...graph, nodes };
}
