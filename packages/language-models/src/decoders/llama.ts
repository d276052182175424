/**
 * The decoder of Llama and related models: RMS normalization before attention and feed-forward, rotary
 * positions, grouped queries, gated feed-forward.
 */

import { type HostTensor, scope, type Tensor } from "@mp/core";
import { add, mul, reshape, rmsNormalization, transpose } from "@mp/core/ops";
import { checks } from "@mp/graph/internal";
import {
  extent,
  type FieldTable,
  type FieldValues,
  invalid,
  type LinearPart,
  optional,
  positive,
} from "@mp/nn/internal";
import { activationName, findActivation } from "./activations.js";
import { throughBlocks } from "./blocks.js";
import type { Decoder, DecoderInput } from "./decoder.js";
import { depth, nonNegative, positionCount } from "./field-checks.js";
import { embed, HEAD, linear, linearSpec, type TensorsOf, widen } from "./linear.js";
import { type SpecTree, spec } from "./parameter-spec.js";
import { type Angles, anglesAt, inverseFrequencies, type RotaryConfig, rotate } from "./rotary.js";
import { SHARED } from "./shared-fields-table.js";

/** Fields with the defaults of transformers' LlamaConfig. */
export const LLAMA_FIELDS: FieldTable = {
  ...SHARED,
  vocab_size: optional(extent, 32_000),
  hidden_size: optional(extent, 4096),
  intermediate_size: optional(extent, 11_008),
  num_hidden_layers: optional(depth, 32),
  num_attention_heads: optional(extent, 32),
  num_key_value_heads: optional(extent),
  head_dim: optional(extent),
  hidden_act: optional(activationName, "silu"),
  max_position_embeddings: optional(positionCount, 2048),
  original_max_position_embeddings: optional(positionCount),
  rms_norm_eps: optional(nonNegative, 1e-6),
  tie_word_embeddings: optional(checks.truth, false),
  attention_bias: optional(checks.truth, false),
  mlp_bias: optional(checks.truth, false),
  rope_parameters: optional(checks.object),
  rope_scaling: optional(checks.object),
  rope_theta: optional(positive),
  rope_interleaved: { only: [false], because: "pairs of rotary positions are halves of a head" },
  partial_rotary_factor: { only: [1], because: "all of a head is rotated" },
  attention_dropout: {
    only: [0],
    because: "attention weights are not dropped; set it to 0, and use dropout of lora",
  },
};

/** Features of the decoder that differ between families, other than sizes. */
export interface LlamaParts {
  /** Which projections have biases; default none. */
  readonly biases: Readonly<Partial<Record<"input" | "output" | "feed", boolean>>>;
  /** Whether each head of queries and keys is normalized before rotation; default false. */
  readonly headNorms?: boolean;
}

/** The fields of the configuration that are read, with defaults filled in for heads. */
interface Config
  extends RotaryConfig,
    Readonly<Record<"vocab_size" | "hidden_size" | "intermediate_size" | "num_hidden_layers", number>>,
    Readonly<Record<"num_attention_heads" | "num_key_value_heads" | "rms_norm_eps", number>> {
  readonly hidden_act: string;
  readonly tie_word_embeddings: boolean;
  readonly sliding_window?: number | null;
}

/** @throws MP_INVALID_ARGUMENT for sizes that do not fit together; MP_UNSUPPORTED for an unknown `rope_type` */
export function llamaDecoder(given: FieldValues, parts: LlamaParts, ignored: readonly string[]): Decoder {
  const config = fillSizes(given as unknown as Config);
  const frequencies = inverseFrequencies(config, ignored);
  const { vocab_size: vocabulary, num_hidden_layers: layers, num_key_value_heads: keyHeads } = config;
  const { head_dim: headSize, max_position_embeddings: positions } = config;
  return {
    sizes: { vocabulary, layers, keyHeads, headSize, positions },
    parameters: parameterTree(config, parts) as SpecTree,
    apply: (tensors, input) => applyLlama(config, frequencies, tensors as unknown as LlamaWeights, input),
  };
}

function fillSizes(config: Config): Config {
  const { hidden_size: size, num_attention_heads: heads } = config;
  const keyHeads = config.num_key_value_heads ?? heads;
  const { head_dim: headSize = size / heads } = config;
  if (!Number.isInteger(headSize) || headSize % 2 !== 0)
    throw invalid(
      `causalLm: head_dim, or hidden_size by num_attention_heads, must be an even integer, got ${headSize} of ${size} by ${heads}`,
    );
  if (heads % keyHeads !== 0)
    throw invalid(
      `causalLm: num_key_value_heads must divide num_attention_heads, got ${keyHeads} and ${heads}`,
    );
  return { ...config, num_key_value_heads: keyHeads, head_dim: headSize };
}

const normSpec = (size: number) => ({ weight: spec([size], 1) });

const parameterTree = (config: Config, parts: LlamaParts) => ({
  model: {
    embed_tokens: { weight: spec([config.vocab_size, config.hidden_size], "normal") },
    layers: Array.from({ length: config.num_hidden_layers }, () => blockSpec(config, parts)),
    norm: normSpec(config.hidden_size),
  },
  ...(config.tie_word_embeddings ? {} : { [HEAD]: linearSpec(config.hidden_size, config.vocab_size) }),
});

function blockSpec(config: Config, { biases, headNorms }: LlamaParts) {
  const { hidden_size: size, intermediate_size: hidden, head_dim: headSize } = config;
  const queries = config.num_attention_heads * headSize;
  const keys = config.num_key_value_heads * headSize;
  return {
    input_layernorm: normSpec(size),
    self_attn: {
      q_proj: linearSpec(size, queries, biases.input),
      k_proj: linearSpec(size, keys, biases.input),
      v_proj: linearSpec(size, keys, biases.input),
      o_proj: linearSpec(queries, size, biases.output),
      ...(headNorms ? { q_norm: normSpec(headSize), k_norm: normSpec(headSize) } : {}),
    },
    post_attention_layernorm: normSpec(size),
    mlp: {
      gate_proj: linearSpec(size, hidden, biases.feed),
      up_proj: linearSpec(size, hidden, biases.feed),
      down_proj: linearSpec(hidden, size, biases.feed),
    },
  };
}

type LlamaWeights = TensorsOf<ReturnType<typeof parameterTree>>;
type BlockTensors = TensorsOf<ReturnType<typeof blockSpec>>;
type Norm = TensorsOf<ReturnType<typeof normSpec>>;

function applyLlama(
  config: Config,
  frequencies: HostTensor<"f32">,
  { model, lm_head: head }: LlamaWeights,
  input: DecoderInput,
): Tensor {
  const { embed_tokens: table, layers, norm } = model;
  const angles = scope("rotary", () => anglesAt(input.positions, frequencies));
  const rows = scope("embed_tokens", () => embed(table.weight, input.ids));
  const x = throughBlocks("layers", layers, rows, input, (own, y, index) =>
    blockOutput(config, own, y, angles, index, input),
  );
  const last = scope("norm", () => normalize(config, norm, x));
  return scope(HEAD, () => linear(head ?? table, last, input.context));
}

/** RMS normalization, with statistics in f32 under any policy. */
const normalize = ({ rms_norm_eps: epsilon }: Config, { weight }: Norm, x: Tensor): Tensor =>
  rmsNormalization(x, widen(weight, x.dtype), { epsilon });

function blockOutput(
  config: Config,
  own: BlockTensors,
  x: Tensor,
  angles: Angles,
  index: number,
  { attend, context }: DecoderInput,
): Tensor {
  const layer = <K extends string>(parts: Readonly<Record<K, LinearPart>>, name: K, y: Tensor): Tensor =>
    scope(name, () => linear(parts[name], y, context));
  const attended = scope("self_attn", () => {
    const read = normalize(config, own.input_layernorm, x);
    const { num_attention_heads: heads, num_key_value_heads: keyHeads, head_dim: headSize } = config;
    const [batch = 0, time = 0] = x.shape;
    const inHeads = (y: Tensor, count: number): Tensor =>
      transpose(reshape(y, [batch, time, count, headSize]), [0, 2, 1, 3]);
    const turn = (y: Tensor, norm: Norm | undefined): Tensor =>
      rotate(norm === undefined ? y : normalize(config, norm, y), angles);
    const { q_norm: queryNorm, k_norm: keyNorm } = own.self_attn;
    const query = turn(inHeads(layer(own.self_attn, "q_proj", read), heads), queryNorm);
    const key = turn(inHeads(layer(own.self_attn, "k_proj", read), keyHeads), keyNorm);
    const value = inHeads(layer(own.self_attn, "v_proj", read), keyHeads);
    const { sliding_window: window } = config;
    const mixed = attend(index, { query, key, value, ...(typeof window === "number" ? { window } : {}) });
    const joined = reshape(transpose(mixed, [0, 2, 1, 3]), [batch, time, heads * headSize]);
    return layer(own.self_attn, "o_proj", joined);
  });
  const middle = add(x, attended);
  const fed = scope("mlp", () => {
    const read = normalize(config, own.post_attention_layernorm, middle);
    const gate = findActivation(config.hidden_act)(layer(own.mlp, "gate_proj", read));
    return layer(own.mlp, "down_proj", mul(gate, layer(own.mlp, "up_proj", read)));
  });
  return add(middle, fed);
}
