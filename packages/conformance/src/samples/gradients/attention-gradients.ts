import { type Shape, type Tensor, tensor } from "@mp/core";
import type { OpOf } from "@mp/core/graph";
import { type AttentionOptions, attention, constant } from "@mp/core/ops";
import { type GradientRows, type GradientSample, sample, spread } from "../gradient-sample.js";

const bools = (shape: Shape, ...data: readonly number[]) =>
  constant(tensor(Uint8Array.from(data), shape, "bool"));

const of =
  (options: () => AttentionOptions = () => ({})): GradientSample["fn"] =>
  (query, key, value, mask) =>
    attention(query as Tensor, key as Tensor, value as Tensor, {
      ...options(),
      ...(mask === undefined ? {} : { mask }),
    });

const EQUAL = [spread([1, 2, 3, 2]), spread([1, 2, 4, 2], 1), spread([1, 2, 4, 3], 2)];
const GROUPED = [spread([2, 4, 2, 3]), spread([2, 2, 3, 3], 1), spread([2, 2, 3, 2], 2)];

export const attentionGradients: GradientRows<OpOf<"attention">> = {
  Attention: [
    sample("queries-keys-and-values", of(), ...EQUAL),
    sample(
      "causal",
      of(() => ({ isCausal: true, scale: 1.5 })),
      ...EQUAL,
    ),
    sample("grouped-queries", of(), ...GROUPED),
    sample(
      "a-softcap",
      of(() => ({ softcap: 0.75 })),
      ...EQUAL,
    ),
    sample(
      "a-mask",
      of(() => ({ mask: bools([3, 4], 1, 0, 1, 1, 0, 1, 0, 0, 1, 1, 1, 0) })),
      ...EQUAL,
    ),
    sample(
      "a-query-that-attends-to-nothing",
      // Another attends to two keys: with one key each, all gradients of the queries would be 0, and so would what an engine
      // may be off by.
      of(() => ({ mask: bools([2, 1, 1, 3], 0, 1, 1, 1, 1, 0), isCausal: true })),
      ...GROUPED,
    ),
    sample(
      "an-added-mask",
      of(() => ({ isCausal: true })),
      ...GROUPED,
      spread([4, 1, 3], 3),
    ),
  ],
};
