/** The families of models by their `model_type`. */
import { checks } from "@mp/core/internal";
import { type FieldTable, optional, unused } from "./config-fields.js";
import type { Family } from "./decoder.js";
import { GPT2_FIELDS, gpt2Decoder } from "./gpt2.js";
import { LLAMA_FIELDS, llamaDecoder } from "./llama.js";

const { attention_bias: _attention, mlp_bias: _feed, ...COMMON } = LLAMA_FIELDS;

/** With the defaults of transformers' Qwen2Config, whose biases are no choice. */
const QWEN2_FIELDS: FieldTable = {
  ...COMMON,
  vocab_size: optional(checks.count, 151_936),
  intermediate_size: optional(checks.count, 22_016),
  max_position_embeddings: optional(checks.count, 32_768),
  use_sliding_window: { only: [false], because: "a token attends to all before it" },
  layer_types: { only: ["full_attention"], isList: true, because: "a token attends to all before it" },
  use_mrope: { only: [false], because: "tokens have one position each" },
  // They mean nothing without use_sliding_window.
  ...unused("sliding_window max_window_layers"),
};

const QWEN3_FIELDS: FieldTable = {
  ...QWEN2_FIELDS,
  head_dim: optional(checks.count, 128),
  attention_bias: optional(checks.truth, false),
};

const rotary = { prefix: "model", targets: ["q_proj", "v_proj"] } as const;

export const FAMILIES: Readonly<Record<string, Family>> = {
  gpt2: {
    architectures: ["GPT2LMHeadModel", "GPT2Model"],
    fields: GPT2_FIELDS,
    prefix: "transformer",
    targets: ["c_attn"],
    decoder: gpt2Decoder,
  },
  llama: {
    ...rotary,
    architectures: ["LlamaForCausalLM", "LlamaModel"],
    fields: LLAMA_FIELDS,
    decoder: (config, ignored) => {
      const hasBias = config["attention_bias"] === true;
      const biases = { input: hasBias, output: hasBias, feed: config["mlp_bias"] === true };
      return llamaDecoder(config, { biases, headNorms: false }, ignored);
    },
  },
  qwen2: {
    ...rotary,
    architectures: ["Qwen2ForCausalLM", "Qwen2Model"],
    fields: QWEN2_FIELDS,
    decoder: (config, ignored) => {
      const biases = { input: true, output: false, feed: false };
      return llamaDecoder(config, { biases, headNorms: false }, ignored);
    },
  },
  qwen3: {
    ...rotary,
    architectures: ["Qwen3ForCausalLM", "Qwen3Model"],
    fields: QWEN3_FIELDS,
    decoder: (config, ignored) => {
      const hasBias = config["attention_bias"] === true;
      const biases = { input: hasBias, output: hasBias, feed: false };
      return llamaDecoder(config, { biases, headNorms: true }, ignored);
    },
  },
};
