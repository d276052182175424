// Combines the rules of ONNX's Attention for which query attends to which key into one mask.
import type { Tensor } from "@mp/graph";
import {
  add,
  and,
  concat,
  constant,
  expand,
  greaterOrEqual,
  less,
  lessOrEqual,
  range,
  reshape,
  sub,
  where,
} from "@mp/graph/ops";
import { literals } from "../../literals.js";

export interface Visibility {
  readonly time: number;
  readonly keys: number;
  /** Number of keys before the first query: one number for the whole batch, or i32 [batch, 1, 1, 1]. */
  readonly before: number | Tensor;
  readonly isCausal: boolean;
  /** Largest distance to an earlier key that a query may attend to; -1 for no limit. */
  readonly left: number;
  /** Largest distance to a later key that a query may attend to; -1 for no limit. */
  readonly right: number;
}

/** A mask, true where a query may attend, [time, keys] or [batch, 1, time, keys]; undefined if everywhere. */
export function allowMask({ time, keys, before, isCausal, left, right }: Visibility): Tensor | undefined {
  const ahead = isCausal ? 0 : right;
  if (ahead < 0 && left < 0) return undefined;
  const own = add(reshape(range(0, time), [time, 1]), before);
  const key = range(0, keys);
  const sides = [
    ...(ahead < 0 ? [] : [lessOrEqual(key, add(own, ahead))]),
    ...(left < 0 ? [] : [greaterOrEqual(key, sub(own, left))]),
  ];
  return sides.reduce(and);
}

/** A bool mask [batch, 1, 1, keys] that hides padding; `lengths`, i32 [batch], counts the real keys. */
export const lengthMask = (lengths: Tensor, keys: number): Tensor =>
  less(range(0, keys), reshape(lengths, [lengths.shape[0] ?? 1, 1, 1, 1]));

/** Extends a mask to at least two axes and to all keys; the added keys are hidden. */
export function fullMask(mask: Tensor, keys: number): Tensor {
  const matrix = mask.shape.length < 2 ? reshape(mask, [1, ...mask.shape]) : mask;
  const reached = matrix.shape.at(-1) ?? 0;
  if (reached >= keys) return matrix;
  const shape = [...matrix.shape.slice(0, -1), keys - reached];
  return concat([matrix, expand(nothing(mask), shape)], matrix.shape.length - 1);
}

/** The scalar that hides a key in a mask of the given mask's dtype: false, or -∞. */
const nothing = ({ dtype }: Tensor): Tensor =>
  constant(literals([dtype === "bool" ? 0 : Number.NEGATIVE_INFINITY], dtype, []));

/** Combines two masks: a query attends to a key only where both allow it. */
export function combineMasks(mask: Tensor | undefined, allowed: Tensor | undefined): Tensor | undefined {
  if (mask === undefined || allowed === undefined) return mask ?? allowed;
  return mask.dtype === "bool" ? and(mask, allowed) : where(allowed, mask, nothing(mask));
}
