import type { Op, OpAttributes } from "../../graph/attributes.js";
import type { Graph, ValueType } from "../../graph/graph.js";
import type { Arithmetic } from "./arithmetic.js";
import type { Operand, Store } from "./store.js";

/** The definition of one op: computes the stores of its outputs from its operands. Operands are never written to. */
export type ReferenceKernel<K extends Op> = (
  inputs: readonly Operand[],
  attributes: OpAttributes[K],
  outputs: readonly ValueType[],
  arithmetic: Arithmetic,
  run: RunGraph,
) => readonly Store[];

/** Runs a graph on operands in the order of its inputs, for operators that have a graph as an attribute. */
export type RunGraph = (
  graph: Graph,
  operands: readonly Operand[],
  arithmetic: Arithmetic,
) => readonly Operand[];

export type ReferenceTable<O extends Op> = { readonly [K in O]: ReferenceKernel<K> };

/** The type of one output. @throws Error if there is none */
export function outputType(outputs: readonly ValueType[], index = 0): ValueType {
  const type = outputs[index];
  if (type === undefined) throw new Error(`internal: output ${index} is missing`);
  return type;
}
