/**
 * The cast categories; graph/op-table.ts has that of each operator, per half dtype. They follow the lists of other
 * frameworks (PyTorch autocast, TensorFlow's auto_mixed_precision, MXNet, Paddle, Apex), with one category per op.
 */
import type { AnyNode, Op } from "./attributes.js";

/**
 * - `low`: safe and faster in low precision (matrix products): always in the compute dtype.
 * - `f32`: computed in f32; ops downstream are decided on their own.
 * - `deny`: computed in f32, and so is every infer, between, widest or clear node downstream, up to the next low, f32
 *   or fixed one.
 * - `infer`: low between low-precision ops and downstream of one.
 * - `between`: low between low-precision ops, otherwise f32: ops that accumulate in f32, whose low-precision result
 *   pays off only where a low-precision op reads it.
 * - `widest`: the widest dtype among its operands that are not weak; with one operand, that operand's.
 * - `clear`: like `widest`. Since it commutes with rounding, it is also lowered where every consumer is low-precision,
 *   which moves the cast upstream of it.
 * - `fixed`: as written: an attribute gives the dtype, or no floats are involved.
 */
export const CAST_CATEGORIES = [
  "low",
  "f32",
  "deny",
  "infer",
  "between",
  "widest",
  "clear",
  "fixed",
] as const;

export type CastCategory = (typeof CAST_CATEGORIES)[number];

/**
 * Number of leading operands that are cast to the node's dtype together, if not all of them. A normalization takes
 * scale, bias and statistics in f32 beside halves, attention a mask; a barrier's further operands only fix an order.
 */
const leadingOperands: Readonly<Partial<Record<Op, number>>> = {
  Attention: 3,
  BatchNormalization: 1,
  BatchNormalizationGradient: 2,
  Barrier: 1,
};

/**
 * The operands of a node that are cast to its dtype together. A node that carries a custom gradient has none, since it
 * computes nothing.
 */
export function leadingInputs({ op, inputs, origin }: AnyNode): AnyNode["inputs"] {
  return inputs.slice(0, origin.custom === undefined ? leadingOperands[op] : 0);
}
