import type { AddingOp } from "./families.js";
import { type AnyNode, isNode } from "./graph.js";
import { OPS, opTable } from "./op-table.js";

/**
 * Operators that accumulate sums or products of many terms. By definition they accumulate in f32 and round once, for
 * any operand dtype.
 */
export const ADDING_OPS: readonly AddingOp[] = OPS.filter((op): op is AddingOp => opTable[op].sums === true);

/** Whether the node accumulates many terms; a scatter that only replaces does not. */
export function addsUp(node: AnyNode): boolean {
  if (isNode(node, "ScatterElements") || isNode(node, "ScatterND"))
    return node.attributes.reduction === "add" || node.attributes.reduction === "mul";
  return opTable[node.op].sums === true;
}
