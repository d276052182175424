/**
 * The cast categories; graph/op-table.ts assigns one to each operator and half dtype. The categories follow the lists
 * of other frameworks (PyTorch autocast, TensorFlow's auto_mixed_precision, MXNet, Paddle, Apex).
 */
import type { AnyNode, Op } from "./attributes.js";

/**
 * - `low`: always in the compute dtype, since it is safe and faster in low precision (matrix products).
 * - `f32`: computed in f32; ops downstream are decided independently.
 * - `deny`: computed in f32, as are all infer, between, widest and clear nodes downstream, up to the next low, f32 or
 *   fixed node.
 * - `infer`: low between low-precision ops and downstream of a low-precision op, otherwise f32.
 * - `between`: low between low-precision ops, otherwise f32: ops that accumulate in f32, whose low-precision result
 *   pays off only where a low-precision op reads it.
 * - `widest`: the widest dtype of the operands that are not weak; with one operand, that operand's dtype.
 * - `clear`: like `widest`, but also low where every consumer is low-precision, which moves the cast upstream. This
 *   is possible because the op commutes with rounding.
 * - `fixed`: unchanged, since an attribute gives the dtype or no floats are involved.
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
 * Number of leading operands that are cast together to the node's dtype; by default all. Later floats are cast to
 * f32: scale, bias, statistics, a mask. Later operands of a Barrier stay; they only fix an order.
 */
const leadingOperands: Readonly<Partial<Record<Op, number>>> = {
  Attention: 3,
  AttentionGradient: 4,
  BatchNormalization: 1,
  BatchNormalizationGradient: 2,
  Barrier: 1,
};

/**
 * The operands of a node that are cast together to its dtype. A node that carries a custom gradient has none, since
 * it computes nothing.
 */
export function leadingInputs({ op, inputs, origin }: AnyNode): AnyNode["inputs"] {
  return inputs.slice(0, origin.custom === undefined ? leadingOperands[op] : 0);
}
