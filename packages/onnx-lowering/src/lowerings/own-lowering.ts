import type { DType, Family, GraphNode, Op, OpOf, Value } from "@mp/graph";
import type { NodeWriter } from "@mp/onnx/write";

/** Emits the standard form of the node, with these operands or in another dtype. @returns the output names */
export type Standard = (operands: readonly string[], as?: DType) => readonly string[];

/**
 * Lowers a node to an engine's own form; undefined if the standard form is right.
 * @returns the names of the node's outputs, in order
 */
export type OwnLowering<K extends Op = Op> = (
  node: GraphNode<K>,
  operands: readonly string[],
  writer: NodeWriter,
  standard: Standard,
) => readonly string[] | undefined;

export type OwnLowerings = { readonly [K in Op]?: OwnLowering<K> };

/** Lowerings for the ops of one family. */
export type OwnLoweringsOf<F extends Family> = { readonly [K in OpOf<F>]?: OwnLowering<K> };

/** Combines lowerings: the first that applies is used. */
export function firstApplicable<K extends Op>(...lowerings: readonly OwnLowering<K>[]): OwnLowering<K> {
  return (node, operands, writer, standard) => {
    for (const lower of lowerings) {
      const results = lower(node, operands, writer, standard);
      if (results !== undefined) return results;
    }
    return undefined;
  };
}

/** Combines two tables: for each op, the first table's lowering if it applies, else the second's. */
export function firstOfEach(first: OwnLowerings, second: OwnLowerings): OwnLowerings {
  const joined = Object.entries(first).map(([op, lower]) => {
    const other = second[op as Op];
    return [op, other === undefined ? lower : firstApplicable(lower as OwnLowering, other as OwnLowering)];
  });
  return { ...second, ...Object.fromEntries(joined) };
}

/** The type of the first operand. */
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
