/**
 * A cache of keys and values with a fixed length. A prompt fills it from the start, then each token fills the
 * next position. Positions not yet filled hold no meaningful values and are masked.
 */
import { type HostTensor, type Tensor, zeros } from "@mp/core";
import { attention, concat, expand, lessOrEqual, range, reshape, scatterElements, slice } from "@mp/core/ops";
import { causalAttention, withinWindow } from "../decoders/causal-attention.js";
import type { Attend, Heads, ModelSizes } from "../decoders/decoder.js";

/** The cached keys and values of a block, each [1, keyHeads, length, size]. */
export type CachedBlock<T> = Readonly<Record<"keys" | "values", T>>;

/** A model's cache, with one entry per block. */
export type Cache<T> = readonly CachedBlock<T>[];

export function emptyCache({ layers, keyHeads, headSize }: ModelSizes, length: number): Cache<HostTensor> {
  const empty = (): HostTensor => zeros([1, keyHeads, length, headSize]);
  return Array.from({ length: layers }, () => ({ keys: empty(), values: empty() }));
}

/** An attention function to trace a model with; `next` is the cache after all blocks have called it. */
export interface CachedAttention {
  readonly attend: Attend;
  readonly next: Cache<Tensor>;
}

/** Causal attention within a prompt, which starts at position 0 of the cache. */
export function promptAttention(cache: Cache<Tensor>): CachedAttention {
  return recording(cache, (before, heads) => {
    const time = heads.key.shape[2] as number;
    const fill = (old: Tensor, own: Tensor): Tensor =>
      time === old.shape[2] ? own : concat([own, slice(old, [{ axis: 2, start: time }])], 2);
    const after = { keys: fill(before.keys, heads.key), values: fill(before.values, heads.value) };
    return { after, mixed: causalAttention(heads) };
  });
}

/** Attention of one token, at the position `place` (i32 []), to itself and all earlier tokens. */
export function tokenAttention(cache: Cache<Tensor>, place: Tensor): CachedAttention {
  const length = cache[0]?.keys.shape[2] ?? 0;
  const places = range(0, length);
  const filled = reshape(lessOrEqual(places, place), [1, 1, 1, length]);
  return recording(cache, (before, heads) => {
    const at = expand(reshape(place, [1, 1, 1, 1]), heads.key.shape);
    const after = {
      keys: scatterElements(before.keys, at, heads.key, { axis: 2 }),
      values: scatterElements(before.values, at, heads.value, { axis: 2 }),
    };
    const mask = withinWindow(heads, place, places, filled);
    return { after, mixed: attention(heads.query, after.keys, after.values, { mask }) };
  });
}

type Mixed = { readonly after: CachedBlock<Tensor>; readonly mixed: Tensor };

/** Makes the attention of all blocks from that of one, and keeps the cache that each leaves. */
function recording(
  cache: Cache<Tensor>,
  block: (before: CachedBlock<Tensor>, heads: Heads) => Mixed,
): CachedAttention {
  const next = [...cache];
  const attend: Attend = (layer, heads) => {
    const { after, mixed } = block(cache[layer] as CachedBlock<Tensor>, heads);
    next[layer] = after;
    return mixed;
  };
  return { attend, next };
}
