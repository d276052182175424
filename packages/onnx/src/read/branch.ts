import type { AnyNode, Value } from "@mp/core/graph";
import { numbersOf } from "../numbers.js";
import type { NodeReader, NodeResult, ReadNode } from "./node-reader.js";

/** The branch that a known condition takes, node by node in the graph around; the other one is not read. */
export const branch: ReadNode = (reader) => {
  const condition = reader.constant(0);
  if (condition?.data.length !== 1) return reader.unsupported("has a condition of more than one element");
  const [taken, left] =
    numbersOf(condition)[0] === 0 ? ["else_branch", "then_branch"] : ["then_branch", "else_branch"];
  reader.graph(left as string);
  const { graph, captured, known } = reader.body(reader.graph(taken as string), []);
  const values = new Map<Value, Value>();
  graph.inputs.forEach(({ value }, index) => {
    const outer = captured[index];
    if (outer !== undefined) values.set(value, outer);
  });
  for (const node of graph.nodes) emitted(reader, node, values);
  return graph.outputs.map(({ value }, index): NodeResult => {
    const constant = known.get(index);
    return constant === undefined ? placeOf(value, values) : { constant };
  });
};

function placeOf(value: Value, values: ReadonlyMap<Value, Value>): Value {
  const found = values.get(value);
  if (found === undefined) throw new Error("internal: a branch reads what it does not have");
  return found;
}

function emitted(reader: NodeReader, node: AnyNode, values: Map<Value, Value>): void {
  const inputs = node.inputs.map((value) => placeOf(value, values));
  const results = reader.emit(node.op, inputs, node.attributes as never);
  node.outputs.forEach((value, index) => {
    const result = results[index];
    if (result !== undefined) values.set(value, result);
  });
}
