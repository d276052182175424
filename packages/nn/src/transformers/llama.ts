/** The decoders of the Llama line: RMS normalization before each part, rotary positions, grouped queries, a gated feed-forward. */
import { type HostTensor, MpError, scope, type Tensor } from "@mp/core";
import { checks } from "@mp/core/internal";
import { add, mul, reshape, rmsNormalization, transpose } from "@mp/core/ops";
import { type Activation, activationName, activationOf } from "./activations.js";
import { throughBlocks } from "./blocks.js";
import { type FieldTable, type FieldValues, optional } from "./config-fields.js";
import type { Decoder, DecoderInput } from "./decoder.js";
import { atPlace, embedded } from "./embedded.js";
import { depth, extent, nonNegative, positive } from "./field-checks.js";
import { type LinearPart, linear, linearSpec, widened } from "./linear.js";
import { type SpecTree, spec } from "./parameter-spec.js";
import { type Angles, anglesAt, inverseFrequencies, rotated } from "./rotary.js";
import { REFUSED, UNUSED } from "./unused-fields-table.js";

/** With the defaults of transformers' LlamaConfig. */
export const LLAMA_FIELDS: FieldTable = {
  ...UNUSED,
  ...REFUSED,
  model_type: optional(checks.text),
  architectures: optional(checks.listOf("names", (value) => typeof value === "string")),
  vocab_size: optional(extent, 32_000),
  hidden_size: optional(extent, 4096),
  intermediate_size: optional(extent, 11_008),
  num_hidden_layers: optional(depth, 32),
  num_attention_heads: optional(extent, 32),
  num_key_value_heads: optional(extent),
  head_dim: optional(extent),
  hidden_act: optional(activationName, "silu"),
  max_position_embeddings: optional(checks.count, 2048),
  original_max_position_embeddings: optional(checks.count),
  initializer_range: optional(nonNegative, 0.02),
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

/** Parts that members of the line differ in, besides their sizes. */
export interface LlamaParts {
  readonly biases: Readonly<Record<"input" | "output" | "feed", boolean>>;
  /** Whether each head of queries and keys is normalized before it is turned. */
  readonly headNorms: boolean;
}

interface Sizes {
  readonly size: number;
  readonly hidden: number;
  readonly heads: number;
  readonly keyHeads: number;
  readonly headSize: number;
}

interface Block {
  readonly sizes: Sizes;
  readonly epsilon: number;
  readonly activation: Activation;
}

type Config = Readonly<Record<string, number>> & FieldValues;

/** @throws MP_INVALID_ARGUMENT for sizes that do not fit together; MP_UNSUPPORTED for angles that are not computed here */
export function llamaDecoder(given: FieldValues, parts: LlamaParts, ignored: readonly string[]): Decoder {
  const config = given as Config;
  const sizes = sizesOf(config);
  const vocabulary = config["vocab_size"] as number;
  const isTied = given["tie_word_embeddings"] === true;
  const frequencies = inverseFrequencies(
    {
      headSize: sizes.headSize,
      theta: config["rope_theta"],
      scaling: (given["rope_scaling"] ?? given["rope_parameters"] ?? {}) as FieldValues,
      originalLength: config["original_max_position_embeddings"],
      longest: config["max_position_embeddings"] as number,
    },
    ignored,
  );
  const layers = Array.from({ length: config["num_hidden_layers"] as number }, () => blockSpec(sizes, parts));
  const model = {
    embed_tokens: { weight: spec([vocabulary, sizes.size], "normal") },
    layers,
    norm: normSpec(sizes.size),
  };
  const head = { lm_head: linearSpec({ inputs: sizes.size, outputs: vocabulary }, false) };
  const block: Block = {
    sizes,
    epsilon: config["rms_norm_eps"] as number,
    activation: activationOf(given["hidden_act"]),
  };
  return {
    sizes: {
      vocabulary,
      layers: layers.length,
      keyHeads: sizes.keyHeads,
      headSize: sizes.headSize,
      positions: config["max_position_embeddings"] as number,
    },
    parameters: { model, ...(isTied ? {} : head) } as SpecTree,
    deviation: config["initializer_range"] as number,
    head: "lm_head",
    isLeftOut: (name) => name.endsWith(".rotary_emb.inv_freq") || (isTied && name === "lm_head.weight"),
    apply: (parameters, input) => applied(block, frequencies, parameters as unknown as LlamaTensors, input),
  };
}

function sizesOf(config: Config): Sizes {
  const size = config["hidden_size"] as number;
  const heads = config["num_attention_heads"] as number;
  const keyHeads = config["num_key_value_heads"] ?? heads;
  const headSize = config["head_dim"] ?? size / heads;
  if (!Number.isInteger(headSize) || headSize % 2 !== 0)
    throw mismatch(
      `head_dim, or hidden_size by num_attention_heads, must be an even integer, got ${headSize} of ${size} by ${heads}`,
    );
  if (heads % keyHeads !== 0)
    throw mismatch(`num_key_value_heads must divide num_attention_heads, got ${keyHeads} and ${heads}`);
  return { size, hidden: config["intermediate_size"] as number, heads, keyHeads, headSize };
}

const mismatch = (problem: string): MpError => new MpError("MP_INVALID_ARGUMENT", `causalLm: ${problem}`);

const normSpec = (size: number): SpecTree => ({ weight: spec([size], "ones") });

function blockSpec(
  { size, hidden, heads, keyHeads, headSize }: Sizes,
  { biases, headNorms }: LlamaParts,
): SpecTree {
  const queries = { inputs: size, outputs: heads * headSize };
  const keys = { inputs: size, outputs: keyHeads * headSize };
  return {
    input_layernorm: normSpec(size),
    self_attn: {
      q_proj: linearSpec(queries, biases.input),
      k_proj: linearSpec(keys, biases.input),
      v_proj: linearSpec(keys, biases.input),
      o_proj: linearSpec({ inputs: heads * headSize, outputs: size }, biases.output),
      ...(headNorms ? { q_norm: normSpec(headSize), k_norm: normSpec(headSize) } : {}),
    },
    post_attention_layernorm: normSpec(size),
    mlp: {
      gate_proj: linearSpec({ inputs: size, outputs: hidden }, biases.feed),
      up_proj: linearSpec({ inputs: size, outputs: hidden }, biases.feed),
      down_proj: linearSpec({ inputs: hidden, outputs: size }, biases.feed),
    },
  };
}

interface Norm {
  readonly weight: Tensor;
}

interface BlockTensors {
  readonly input_layernorm: Norm;
  readonly self_attn: Readonly<Record<"q_proj" | "k_proj" | "v_proj" | "o_proj", LinearPart>> & {
    readonly q_norm?: Norm;
    readonly k_norm?: Norm;
  };
  readonly post_attention_layernorm: Norm;
  readonly mlp: Readonly<Record<"gate_proj" | "up_proj" | "down_proj", LinearPart>>;
}

interface LlamaTensors {
  readonly model: {
    readonly embed_tokens: { readonly weight: Tensor };
    readonly layers: readonly BlockTensors[];
    readonly norm: Norm;
  };
  readonly lm_head?: LinearPart;
}

function applied(
  block: Block,
  frequencies: HostTensor<"f32">,
  { model, lm_head: head }: LlamaTensors,
  input: DecoderInput,
): Tensor {
  const { embed_tokens: table, layers, norm } = model;
  const { ids, positions, place, context } = input;
  const angles = scope("rotary", () => anglesAt(positions, frequencies));
  const rows = scope("embed_tokens", () => embedded(table.weight, ids));
  const x = throughBlocks("layers", layers, rows, input, (own, y, index) =>
    blockOutput(block, own, y, angles, index, input),
  );
  const last = scope("norm", () => normalized(block, norm, atPlace(x, place)));
  return scope("lm_head", () => linear(head ?? table, last, context));
}

/** Its statistics are in f32 under any policy. */
const normalized = ({ epsilon }: Block, { weight }: Norm, x: Tensor): Tensor =>
  rmsNormalization(x, widened(weight, x), { epsilon });

function blockOutput(
  block: Block,
  own: BlockTensors,
  x: Tensor,
  angles: Angles,
  index: number,
  { attend, context }: DecoderInput,
): Tensor {
  const layer = <K extends string>(parts: Readonly<Record<K, LinearPart>>, name: K, y: Tensor): Tensor =>
    scope(name, () => linear(parts[name], y, context));
  const attended = scope("self_attn", () => {
    const read = normalized(block, own.input_layernorm, x);
    const { heads, keyHeads, headSize } = block.sizes;
    const [batch = 0, time = 0] = x.shape;
    const inHeads = (y: Tensor, count: number): Tensor =>
      transpose(reshape(y, [batch, time, count, headSize]), [0, 2, 1, 3]);
    const turned = (y: Tensor, norm: Norm | undefined): Tensor =>
      rotated(norm === undefined ? y : normalized(block, norm, y), angles);
    const { q_norm: queryNorm, k_norm: keyNorm } = own.self_attn;
    const query = turned(inHeads(layer(own.self_attn, "q_proj", read), heads), queryNorm);
    const key = turned(inHeads(layer(own.self_attn, "k_proj", read), keyHeads), keyNorm);
    const value = inHeads(layer(own.self_attn, "v_proj", read), keyHeads);
    const mixed = attend(index, { query, key, value });
    const joined = reshape(transpose(mixed, [0, 2, 1, 3]), [batch, time, heads * headSize]);
    return layer(own.self_attn, "o_proj", joined);
  });
  const middle = add(x, attended);
  const fed = scope("mlp", () => {
    const read = normalized(block, own.post_attention_layernorm, middle);
    const gate = block.activation(layer(own.mlp, "gate_proj", read));
    return layer(own.mlp, "down_proj", mul(gate, layer(own.mlp, "up_proj", read)));
  });
  return add(middle, fed);
}
