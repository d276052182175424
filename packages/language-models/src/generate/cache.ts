/**
 * A cache of keys and values with a fixed length. A prompt fills it from the start, then each token fills the next
 * position. Later positions hold no meaningful values and are masked.
 */
import { type HostTensor, type Tensor, zeros } from "@mp/core";
import { attention, concat, expand, lessOrEqual, range, reshape, scatterElements, slice } from "@mp/core/ops";
import type { Attend, ModelSizes } from "../decoders/decoder.js";

/** The keys and values of a block, each [1, keyHeads, length, size]. */
export type CachedBlock<T> = Readonly<Record<"keys" | "values", T>>;

/** A model's cache, with one entry per block. */
export type Cache<T> = readonly CachedBlock<T>[];

export function emptyCache({ layers, keyHeads, headSize }: ModelSizes, length: number): Cache<HostTensor> {
  const empty = (): HostTensor => zeros([1, keyHeads, length, headSize]);
  return Array.from({ length: layers }, () => ({ keys: empty(), values: empty() }));
}

/** An attention function for tracing, and the cache after it. */
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
    return { after, mixed: attention(heads.query, heads.key, heads.value, { isCausal: true }) };
  });
}

/** Attention of one token at a position, i32 [], to itself and all earlier ones. */
export function tokenAttention(cache: Cache<Tensor>, place: Tensor): CachedAttention {
  const length = cache[0]?.keys.shape[2] ?? 0;
  const mask = reshape(lessOrEqual(range(0, length), place), [1, 1, 1, length]);
  return recording(cache, (before, heads) => {
    const at = expand(reshape(place, [1, 1, 1, 1]), heads.key.shape);
    const after = {
      keys: scatterElements(before.keys, at, heads.key, { axis: 2 }),
      values: scatterElements(before.values, at, heads.value, { axis: 2 }),
    };
    return { after, mixed: attention(heads.query, after.keys, after.values, { mask }) };
  });
}

type Block = (
  before: CachedBlock<Tensor>,
  heads: Parameters<Attend>[1],
) => { readonly after: CachedBlock<Tensor>; readonly mixed: Tensor };

function recording(cache: Cache<Tensor>, block: Block): CachedAttention {
  const next = [...cache];
  const attend: Attend = (layer, heads) => {
    const { after, mixed } = block(cache[layer] as CachedBlock<Tensor>, heads);
    next[layer] = after;
    return mixed;
  };
  return { attend, next };
}
