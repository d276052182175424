/** The decoder of GPT-2: learned positions, layer normalization, one projection for query, key and value. */

import { scope, type Tensor } from "@mp/core";
import { add, layerNormalization, mul, reshape, split, transpose } from "@mp/core/ops";
import { checks } from "@mp/graph/internal";
import { dropout } from "@mp/nn";
import {
  extent,
  type FieldTable,
  type FieldValues,
  invalid,
  type LinearPart,
  mismatch,
  optional,
  rate,
  unused,
} from "@mp/nn/internal";
import { activationName, findActivation } from "./activations.js";
import { throughBlocks } from "./blocks.js";
import type { Decoder, DecoderInput } from "./decoder.js";
import { attendWithDropout } from "./dropped-attention.js";
import { depth, nonNegative } from "./field-checks.js";
import { embed, HEAD, linear, linearSpec, type TensorsOf, widen } from "./linear.js";
import { type SpecTree, spec } from "./parameter-spec.js";
import { SHARED } from "./shared-fields-table.js";

/** Fields with the defaults of transformers' GPT2Config. */
export const GPT2_FIELDS: FieldTable = {
  ...SHARED,
  vocab_size: optional(extent, 50_257),
  n_positions: optional(extent, 1024),
  n_embd: optional(extent, 768),
  n_layer: optional(depth, 12),
  n_head: optional(extent, 12),
  n_inner: optional(extent),
  activation_function: optional(activationName, "gelu_new"),
  resid_pdrop: optional(rate, 0.1),
  embd_pdrop: optional(rate, 0.1),
  attn_pdrop: optional(rate, 0.1),
  layer_norm_epsilon: optional(nonNegative, 1e-5),
  scale_attn_weights: optional(checks.truth, true),
  scale_attn_by_inverse_layer_idx: optional(checks.truth, false),
  tie_word_embeddings: optional(checks.truth, true),
  // The softmax is in float32 whatever this field says; transformers reads it in only one of its kernels.
  ...unused("reorder_and_upcast_attn"),
  ...unused(`n_ctx n_vocab n_special output_past predict_special_tokens gradient_checkpointing _num_labels summary_type
    summary_use_proj summary_activation summary_proj_to_labels summary_first_dropout`),
};

/** The fields of the configuration that are read. */
interface Config
  extends Readonly<Record<"vocab_size" | "n_positions" | "n_embd" | "n_layer" | "n_head", number>>,
    Readonly<Record<"layer_norm_epsilon" | "resid_pdrop" | "embd_pdrop" | "attn_pdrop", number>>,
    Readonly<Record<"scale_attn_weights" | "scale_attn_by_inverse_layer_idx", boolean>> {
  readonly n_inner?: number;
  readonly activation_function: string;
  readonly tie_word_embeddings: boolean;
}

/** @throws MP_INVALID_ARGUMENT for sizes that do not fit together */
export function gpt2Decoder(given: FieldValues): Decoder {
  const config = given as unknown as Config;
  const { vocab_size: vocabulary, n_positions: positions, n_layer: layers } = config;
  const { n_head: heads, n_embd: size } = config;
  if (size % heads !== 0) throw invalid(`causalLm: n_head must divide n_embd, got ${heads} and ${size}`);
  return {
    sizes: { vocabulary, layers, keyHeads: heads, headSize: size / heads, positions },
    parameters: parameterTree(config) as SpecTree,
    apply: (tensors, input) => applyGpt2(config, tensors as unknown as Gpt2Weights, input),
  };
}

const normSpec = (size: number) => ({ weight: spec([size], 1), bias: spec([size], 0) });

/** Describes the weights of a `Conv1D`; `factor` scales the standard deviation of initial values. */
const convolutionSpec = (inputs: number, outputs: number, factor = 1) => ({
  weight: { ...spec([inputs, outputs], "normal"), isLinear: true, isInputsFirst: true, factor } as const,
  bias: spec([outputs], 0),
});

const blockSpec = (size: number, hidden: number, factor: number) => ({
  ln_1: normSpec(size),
  attn: { c_attn: convolutionSpec(size, 3 * size), c_proj: convolutionSpec(size, size, factor) },
  ln_2: normSpec(size),
  mlp: { c_fc: convolutionSpec(size, hidden), c_proj: convolutionSpec(hidden, size, factor) },
});

const parameterTree = ({ n_embd: size, n_layer: layers, n_inner: hidden = 4 * size, ...config }: Config) => ({
  transformer: {
    wte: { weight: spec([config.vocab_size, size], "normal") },
    wpe: { weight: spec([config.n_positions, size], "normal") },
    h: Array.from({ length: layers }, () => blockSpec(size, hidden, 1 / Math.sqrt(2 * layers))),
    ln_f: normSpec(size),
  },
  ...(config.tie_word_embeddings ? {} : { [HEAD]: linearSpec(size, config.vocab_size) }),
});

type Gpt2Weights = TensorsOf<ReturnType<typeof parameterTree>>;
type BlockTensors = TensorsOf<ReturnType<typeof blockSpec>>;
type Norm = TensorsOf<ReturnType<typeof normSpec>>;

function applyGpt2(config: Config, { transformer, lm_head: head }: Gpt2Weights, input: DecoderInput): Tensor {
  const { wte, wpe, h: layers, ln_f: norm } = transformer;
  const { n_positions: longest, embd_pdrop: rate } = config;
  const time = input.ids.shape[1] ?? 0;
  if (time > longest)
    throw mismatch(
      `causalLm: ids must have at most ${longest} tokens in a row, n_positions, got ${time}; pass shorter rows`,
    );
  const rows = add(
    scope("wte", () => embed(wte.weight, input.ids)),
    scope("wpe", () => embed(wpe.weight, input.positions)),
  );
  const x = throughBlocks("h", layers, dropOut(rows, rate, input), input, (own, y, index) =>
    blockOutput(config, own, y, index, input),
  );
  const last = scope("ln_f", () => normalize(config, norm, x));
  return scope(HEAD, () => linear(head ?? wte, last, input.context));
}

const dropOut = (x: Tensor, share: number, { context }: DecoderInput): Tensor =>
  share === 0 ? x : dropout(share).apply({}, x, context);

/** Layer normalization, with statistics in f32 under any policy. */
const normalize = ({ layer_norm_epsilon: epsilon }: Config, { weight, bias }: Norm, x: Tensor): Tensor =>
  layerNormalization(x, widen(weight, x.dtype), widen(bias, x.dtype), { epsilon });

/** A factor for a layer's attention scores, in addition to the 1 / √(head size) of `attention`. */
const attentionScale = (config: Config, layer: number): number =>
  (config.scale_attn_weights ? 1 : Math.sqrt(config.n_embd / config.n_head)) /
  (config.scale_attn_by_inverse_layer_idx ? layer + 1 : 1);

function blockOutput(
  config: Config,
  own: BlockTensors,
  x: Tensor,
  index: number,
  input: DecoderInput,
): Tensor {
  const { n_embd: size, n_head: heads, attn_pdrop: ofShares, resid_pdrop: ofOutputs } = config;
  const layer = <K extends string>(parts: Readonly<Record<K, LinearPart>>, name: K, y: Tensor): Tensor =>
    scope(name, () => linear({ ...parts[name], isInputsFirst: true }, y, input.context));
  const attended = scope("attn", () => {
    const [batch = 0, time = 0] = x.shape;
    const stacked = layer(own.attn, "c_attn", normalize(config, own.ln_1, x));
    const [query, key, value] = split(stacked, 3, -1).map((y) =>
      transpose(reshape(y, [batch, time, heads, size / heads]), [0, 2, 1, 3]),
    ) as [Tensor, Tensor, Tensor];
    const scale = attentionScale(config, index);
    const scaled = scale === 1 ? query : mul(query, scale);
    const mixed = attendWithDropout(index, { query: scaled, key, value }, ofShares, input);
    const joined = reshape(transpose(mixed, [0, 2, 1, 3]), [batch, time, size]);
    return dropOut(layer(own.attn, "c_proj", joined), ofOutputs, input);
  });
  const middle = add(x, attended);
  const fed = scope("mlp", () => {
    const read = layer(own.mlp, "c_fc", normalize(config, own.ln_2, middle));
    const active = findActivation(config.activation_function)(read);
    return dropOut(layer(own.mlp, "c_proj", active), ofOutputs, input);
  });
  return add(middle, fed);
}
