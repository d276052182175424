import type { Tensor } from "@mp/core";
import { and, attention, less, range, reshape, sub } from "@mp/core/ops";
import type { Heads } from "./decoder.js";

/** Attention of each token to itself and earlier ones, where the mask is true and within the heads' window. */
export function causalAttention(heads: Heads, given?: Tensor): Tensor {
  const { query, key, value } = heads;
  const time = query.shape[2] as number;
  const places = range(0, time);
  const mask = withinWindow(heads, reshape(places, [time, 1]), places, given);
  return attention(query, key, value, { isCausal: true, ...(mask === undefined ? {} : { mask }) });
}

/**
 * Restricts a mask, or all keys, to the heads' window: bool, true where the query is fewer than `window`
 * places after the key. Places are i32 and broadcast to [..., queries, keys]. Masks fewer keys than the window too,
 * because an exported file may get more keys.
 */
export function withinWindow<M extends Tensor | undefined>(
  { window }: Heads,
  queries: Tensor,
  keys: Tensor,
  mask: M,
): M | Tensor {
  if (window === undefined) return mask;
  const isNear = less(sub(queries, keys), window);
  return mask === undefined ? isNear : and(mask, isNear);
}
