/**
 * Measures the milliseconds of a token with the cache, and of a whole forward pass over 512 tokens: `node
 * bench/dist/cached-token.js`. The model has 12 layers of size 256 and new weights.
 */
import { ort } from "@mp/backend-ort";
import { float32, key, predictor, tensor } from "@mp/core";
import { type CausalLmInput, causalLm, generator } from "@mp/language-models";
import { median } from "./statistics.js";
import { milliseconds } from "./timing.js";

const LENGTH = 512;
const TOKENS = 100;

const model = causalLm({
  model_type: "llama",
  vocab_size: 8192,
  hidden_size: 256,
  intermediate_size: 1024,
  num_hidden_layers: 12,
  num_attention_heads: 4,
  max_position_embeddings: LENGTH,
  tie_word_embeddings: true,
});
const params = model.init(key(0));

const backend = await ort();
const precision = float32();
const ids = Int32Array.from({ length: LENGTH }, (_, at) => (at * 37) % model.sizes.vocabulary);
const serving = await predictor({
  backend,
  params,
  precision,
  model: (weights, input: CausalLmInput) => model.apply(weights, input),
});
const writer = await generator({ backend, model, params, precision, length: LENGTH });

const whole = (): Promise<unknown> => serving.predict({ ids: tensor(ids, [1, LENGTH]) } as never);

// Tokens and whole passes alternate. The first round compiles and warms up both, and does not count.
const text = writer.generate(ids.subarray(0, LENGTH - TOKENS), { temperature: 0, maxTokens: TOKENS });
const wholes: number[] = [];
const tokens: number[] = [];
for (let round = 0; round < 12; round++) {
  const pass = await milliseconds(whole);
  for (let count = 0; count < 8; count++) {
    const token = await milliseconds(() => text.next());
    if (round > 0) tokens.push(token);
  }
  if (round > 0) wholes.push(pass);
}
const [token, pass] = [median(tokens), median(wholes)];
console.log(
  `token ${token.toFixed(2)} ms, whole pass ${pass.toFixed(2)} ms, ratio ${(token / pass).toFixed(3)}`,
);
await writer.dispose();
await serving.dispose();
await backend.dispose();
