import type { Op, OpAttributes } from "../graph/attributes.js";
import type { Graph, Value, ValueType } from "../graph/graph.js";
import type { Arithmetic } from "./elements/arithmetic.js";
import type { Operand, Store } from "./elements/store.js";
import { referenceKernels } from "./kernels.js";

/** Computes one node. @throws MP_OUT_OF_RANGE for an index, label or divisor for which the op is undefined */
export function runKernel<K extends Op>(
  op: K,
  inputs: readonly Operand[],
  attributes: OpAttributes[K],
  outputs: readonly ValueType[],
  arithmetic: Arithmetic,
): readonly Store[] {
  return referenceKernels[op](inputs, attributes, outputs, arithmetic, runGraph);
}

/** Runs the nodes in order; values are dropped after their last use. Operands and results are in the graph's order. */
export function runGraph(
  graph: Graph,
  operands: readonly Operand[],
  arithmetic: Arithmetic,
): readonly Operand[] {
  const values = new Map<Value, Operand>();
  graph.inputs.forEach(({ value }, index) => {
    values.set(value, { ...pickType(value), data: (operands[index] as Operand).data });
  });
  const lastUse = lastUses(graph);
  graph.nodes.forEach((node, index) => {
    const inputs = node.inputs.map((input) => expectKnown(values, input));
    const results = runKernel(node.op, inputs, node.attributes, node.outputs, arithmetic);
    node.outputs.forEach((output, k) => {
      values.set(output, { ...pickType(output), data: results[k] as Store });
    });
    for (const value of [...node.inputs, ...node.outputs]) {
      if ((lastUse.get(value) ?? index) === index) values.delete(value);
    }
  });
  return graph.outputs.map(({ value }) => expectKnown(values, value));
}

const pickType = ({ dtype, shape }: ValueType): ValueType => ({ dtype, shape });

function expectKnown(values: ReadonlyMap<Value, Operand>, value: Value): Operand {
  const operand = values.get(value);
  if (operand === undefined) throw new Error(`internal: value %${value.id} is used before it is made`);
  return operand;
}

/** Index of the last node that reads each value; for the graph's outputs, an index beyond all nodes. */
function lastUses(graph: Graph): ReadonlyMap<Value, number> {
  const last = new Map<Value, number>();
  graph.nodes.forEach((node, index) => {
    for (const input of node.inputs) last.set(input, index);
  });
  for (const { value } of graph.outputs) last.set(value, graph.nodes.length);
  return last;
}
