/** The model families by their `model_type`. */

import { checks } from "@mp/graph/internal";
import { extent, type FieldTable, type FieldValues, optional, unused } from "@mp/nn/internal";
import type { Family } from "./decoder.js";
import { positionCount } from "./field-checks.js";
import { GPT2_FIELDS, gpt2Decoder } from "./gpt2.js";
import { LLAMA_FIELDS, type LlamaParts, llamaDecoder } from "./llama.js";

const { attention_bias: _attention, mlp_bias: _feed, ...COMMON } = LLAMA_FIELDS;

/** Fields with the defaults of transformers' Qwen2Config, which has none for biases: Qwen 2's are fixed. */
const QWEN2_FIELDS: FieldTable = {
  ...COMMON,
  vocab_size: optional(extent, 151_936),
  intermediate_size: optional(extent, 22_016),
  max_position_embeddings: optional(checks.count, 32_768),
  use_sliding_window: { only: [false], because: "a token attends to all before it" },
  layer_types: { only: ["full_attention"], isList: true, because: "a token attends to all before it" },
  use_mrope: { only: [false], because: "tokens have one position each" },
  // Without use_sliding_window these have no effect.
  ...unused("sliding_window max_window_layers"),
};

const QWEN3_FIELDS: FieldTable = {
  ...QWEN2_FIELDS,
  head_dim: optional(extent, 128),
  attention_bias: optional(checks.truth, false),
};

/** Fields with the defaults of transformers' MistralConfig. Null is no window, and as many key heads as query heads. */
const MISTRAL_FIELDS: FieldTable = {
  ...COMMON,
  intermediate_size: optional(extent, 14_336),
  num_key_value_heads: { ...optional(extent, 8), isNullable: true },
  max_position_embeddings: optional(positionCount, 131_072),
  sliding_window: { ...optional(positionCount, 4096), isNullable: true },
};

/** Makes a family that uses Llama's decoder; `name` is the prefix of its class names in transformers. */
const ofLlama = (name: string, fields: FieldTable, partsOf: (config: FieldValues) => LlamaParts): Family => ({
  architectures: [`${name}ForCausalLM`, `${name}Model`],
  fields,
  prefix: "model",
  embeddings: "embed_tokens",
  buffers: /\.rotary_emb\.inv_freq$/,
  targets: ["q_proj", "v_proj"],
  decoder: (config, ignored) => llamaDecoder(config, partsOf(config), ignored),
});

export const FAMILIES: Readonly<Record<string, Family>> = {
  gpt2: {
    architectures: ["GPT2LMHeadModel", "GPT2Model"],
    fields: GPT2_FIELDS,
    prefix: "transformer",
    embeddings: "wte",
    // Older files have the mask of each layer.
    buffers: /\.attn\.(masked_)?bias$/,
    targets: ["c_attn"],
    decoder: gpt2Decoder,
  },
  llama: ofLlama("Llama", LLAMA_FIELDS, ({ attention_bias: own, mlp_bias: feed }) => ({
    biases: { input: own === true, output: own === true, feed: feed === true },
  })),
  mistral: ofLlama("Mistral", MISTRAL_FIELDS, () => ({ biases: {} })),
  qwen2: ofLlama("Qwen2", QWEN2_FIELDS, () => ({ biases: { input: true } })),
  qwen3: ofLlama("Qwen3", QWEN3_FIELDS, ({ attention_bias: own }) => ({
    biases: { input: own === true, output: own === true },
    headNorms: true,
  })),
};
