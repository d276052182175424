import type { Tensor } from "@mp/core";
import { traceInto, type Value } from "@mp/core/graph";
import type { NodeReader } from "./node-reader.js";

/** What a function of core's makes of the operands, node by node in the graph that is being read. */
export function traced(
  reader: NodeReader,
  operands: readonly Value[],
  fn: (...operands: readonly Tensor[]) => Tensor,
): Value {
  const inputs = operands.map((type, index) => ({ name: `x${index}`, role: "batch" as const, type }));
  const { graph } = traceInto(inputs, (tensors) => fn(...tensors));
  const values = new Map<Value, Value>();
  const known = (value: Value | undefined): Value => {
    const found = value === undefined ? undefined : values.get(value);
    if (found === undefined) throw new Error("internal: a value is used before it is made");
    return found;
  };
  graph.inputs.forEach(({ value }, index) => {
    const operand = operands[index];
    if (operand !== undefined) values.set(value, operand);
  });
  for (const node of graph.nodes) {
    const results = reader.emit(node.op, node.inputs.map(known), node.attributes as never);
    node.outputs.forEach((value, index) => {
      const result = results[index];
      if (result !== undefined) values.set(value, result);
    });
  }
  return known(graph.outputs[0]?.value);
}
