import { type DType, isFloat } from "../dtype.js";
import type { Op } from "./attributes.js";
import type { ValueType } from "./graph.js";
import { opTable } from "./op-table.js";

/** The dtypes that each op supports, in terms of `decidingDType`; type inference checks them. */
export const opDTypes: Readonly<Record<Op, readonly DType[]>> = Object.fromEntries(
  Object.entries(opTable).map(([op, { dtypes }]) => [op, dtypes]),
) as Record<Op, readonly DType[]>;

/** Position of the operand whose dtype counts, for ops where that is not the first operand. */
const decidingOperand: Readonly<Partial<Record<Op, number>>> = { Where: 1 };

/**
 * The dtype by which a manifest lists a node as supported: the dtype of its first floating operand, else of its first
 * operand (for Where, of x), else (without operands) of its result.
 */
export function decidingDType(node: {
  readonly op: Op;
  readonly inputs: readonly ValueType[];
  readonly outputs: readonly ValueType[];
}): DType {
  const floating = node.inputs.find(({ dtype }) => isFloat(dtype));
  const type = floating ?? node.inputs[decidingOperand[node.op] ?? 0] ?? node.outputs[0];
  if (type === undefined) throw new Error("internal: a node without operands and results");
  return type.dtype;
}
