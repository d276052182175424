// Logits with the cache are those of the whole text, for generated models, prompts and lengths, in double precision.
import { type HostTensor, key, type Tensor, tensor } from "@mp/core";
import { constant, literal } from "@mp/core/ops";
import { describe, expect, it } from "vitest";
import { numbers, run } from "../../../nn/test/run-layer.js";
import { type CausalLm, causalLm } from "../index.js";
import { type Cache, emptyCache, promptAttention, tokenAttention } from "./cache.js";

const VOCABULARY = 13;

function modelOf(seed: number): CausalLm {
  const heads = [1, 2, 4, 6][seed % 4] as number;
  const keyHeads = [heads, 1, heads / 2, heads][(seed >> 1) % 4] as number;
  return causalLm({
    model_type: "mistral",
    vocab_size: VOCABULARY,
    hidden_size: heads * 4,
    intermediate_size: 6,
    num_hidden_layers: 1 + (seed % 3),
    num_attention_heads: heads,
    num_key_value_heads: Number.isInteger(keyHeads) ? keyHeads : 1,
    max_position_embeddings: 16,
    initializer_range: 0.5,
    tie_word_embeddings: seed % 2 === 0,
    sliding_window: [null, 1, 3, 5][seed % 4],
  });
}

const ids = (tokens: readonly number[]): HostTensor => tensor(Int32Array.from(tokens), [1, tokens.length]);

describe.each(Array.from({ length: 12 }, (_, seed) => seed))("model %i", (seed) => {
  const model = modelOf(seed);
  const text = Array.from({ length: 7 }, (_, at) => (at * at * 5 + seed * 3) % VOCABULARY);
  const prompted = 1 + (seed % 5);
  // Whatever lies behind the prompt must not be seen.
  const padded = [...text.slice(0, prompted), ...Array(seed % 3).fill(VOCABULARY - 1)];
  const length = Math.max(8, padded.length) + (seed % 2);

  it("has the logits of the whole text", () => {
    const params = model.init(key(seed));
    const whole = numbers(
      run({ params, ids: ids(text) }, (all) => model.apply(all.params as never, { ids: all.ids })),
    );
    const noise = (shape: readonly number[]): HostTensor =>
      tensor(
        Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, at) => Math.sin(at)),
        [...shape],
      );
    const cache = emptyCache(model.sizes, length).map(({ keys, values }) => ({
      keys: noise(keys.shape),
      values: noise(values.shape),
    }));
    const given = {
      params,
      padded: ids(padded),
      rest: text.slice(prompted).map((each) => ids([each])),
      cache,
    };
    const made = run(given, (all) => {
      const logits: Tensor[] = [];
      const first = promptAttention(all.cache as Cache<Tensor>);
      const place = literal(prompted - 1, "i32");
      const input = { ids: all.padded, attend: first.attend, place };
      logits.push(model.apply(all.params as never, input));
      let { next } = first;
      for (const [at, token] of all.rest.entries()) {
        const one = tokenAttention(next, literal(prompted + at, "i32"));
        const positions = constant(ids([prompted + at]));
        logits.push(model.apply(all.params as never, { ids: token, attend: one.attend, positions }));
        next = one.next;
      }
      return logits;
    }) as unknown as readonly never[];
    for (const [at, row] of made.entries()) {
      const place = prompted - 1 + at;
      const want = whole.slice(place * VOCABULARY, (place + 1) * VOCABULARY);
      for (const [token, value] of numbers(row).entries())
        expect(Math.abs(value - (want[token] as number))).toBeLessThan(1e-9);
    }
    expect(made.length).toBe(text.length - prompted + 1);
  });
});
