import type { DType } from "@mp/core";
import type { GraphNode, Op, Value } from "@mp/core/graph";
import type { NodeWriter } from "@mp/onnx";

/** The standard lowering of the node itself, on other operands or with another dtype. */
export type Standard = (operands: readonly string[], as?: DType) => readonly string[];

/**
 * This engine's form of one op; undefined where the standard form is right.
 * @returns the names that hold the node's outputs, in order
 */
export type OwnLowering<K extends Op = Op> = (
  node: GraphNode<K>,
  operands: readonly string[],
  writer: NodeWriter,
  standard: Standard,
) => readonly string[] | undefined;

export type OwnLowerings = { readonly [K in Op]?: OwnLowering<K> };

/** The first operand's type. */
export function operandType(node: GraphNode): Value {
  const [first] = node.inputs;
  if (first === undefined) throw new Error(`internal: ${node.name} has no operand`);
  return first;
}

export function at(names: readonly string[], index: number): string {
  const name = names[index];
  if (name === undefined) throw new Error(`internal: there is no name ${index}`);
  return name;
}
