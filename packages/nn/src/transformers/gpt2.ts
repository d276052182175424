/** The decoder of GPT-2: learned positions, layer normalization, one projection to queries, keys and values. */
import { MpError, scope, type Tensor } from "@mp/core";
import { checks } from "@mp/core/internal";
import { add, layerNormalization, mul, reshape, split, transpose } from "@mp/core/ops";
import { dropout } from "../dropout.js";
import { type Activation, activationName, activationOf } from "./activations.js";
import { throughBlocks } from "./blocks.js";
import { type FieldTable, type FieldValues, optional, unused } from "./config-fields.js";
import type { Decoder, DecoderInput } from "./decoder.js";
import { droppedAttention } from "./dropped-attention.js";
import { atPlace, embedded } from "./embedded.js";
import { depth, extent, nonNegative, rate } from "./field-checks.js";
import { type LinearPart, linear, linearSpec, widened } from "./linear.js";
import { type ParameterSpec, type SpecTree, spec } from "./parameter-spec.js";
import { REFUSED, UNUSED } from "./unused-fields-table.js";

/** With the defaults of transformers' GPT2Config. */
export const GPT2_FIELDS: FieldTable = {
  ...UNUSED,
  ...REFUSED,
  model_type: optional(checks.text),
  architectures: optional(checks.listOf("names", (value) => typeof value === "string")),
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
  initializer_range: optional(nonNegative, 0.02),
  scale_attn_weights: optional(checks.truth, true),
  scale_attn_by_inverse_layer_idx: optional(checks.truth, false),
  tie_word_embeddings: optional(checks.truth, true),
  // The softmax is in float32 without it; transformers itself reads it in one of its kernels alone.
  ...unused("reorder_and_upcast_attn"),
  ...unused(`n_ctx n_vocab n_special output_past predict_special_tokens gradient_checkpointing _num_labels summary_type
    summary_use_proj summary_activation summary_proj_to_labels summary_first_dropout`),
};

interface Block {
  readonly size: number;
  readonly heads: number;
  readonly epsilon: number;
  readonly activation: Activation;
  readonly rates: Readonly<Record<"rows" | "shares" | "outputs", number>>;
  /** The scale of the scores of a layer, by that of `attention`, 1 / √(size of a head). */
  scaleOf(layer: number): number;
}

/** @throws MP_INVALID_ARGUMENT for sizes that do not fit together */
export function gpt2Decoder(config: FieldValues): Decoder {
  const numeric = config as Readonly<Record<string, number>>;
  const size = numeric["n_embd"] as number;
  const heads = numeric["n_head"] as number;
  const count = numeric["n_layer"] as number;
  const vocabulary = numeric["vocab_size"] as number;
  const longest = numeric["n_positions"] as number;
  if (size % heads !== 0)
    throw new MpError("MP_INVALID_ARGUMENT", `causalLm: n_head must divide n_embd, got ${heads} and ${size}`);
  const hidden = numeric["n_inner"] ?? 4 * size;
  const isTied = config["tie_word_embeddings"] === true;
  const transformer = {
    wte: { weight: spec([vocabulary, size], "normal") },
    wpe: { weight: spec([longest, size], "normal") },
    h: Array.from({ length: count }, () => blockSpec(size, hidden, 1 / Math.sqrt(2 * count))),
    ln_f: normSpec(size),
  };
  const head = { lm_head: linearSpec({ inputs: size, outputs: vocabulary }, false) };
  const own = config["scale_attn_weights"] === true ? 1 : Math.sqrt(size / heads);
  const isByLayer = config["scale_attn_by_inverse_layer_idx"] === true;
  const block: Block = {
    size,
    heads,
    epsilon: numeric["layer_norm_epsilon"] as number,
    activation: activationOf(config["activation_function"]),
    rates: {
      rows: numeric["embd_pdrop"] as number,
      shares: numeric["attn_pdrop"] as number,
      outputs: numeric["resid_pdrop"] as number,
    },
    scaleOf: (layer) => (isByLayer ? own / (layer + 1) : own),
  };
  return {
    sizes: { vocabulary, layers: count, keyHeads: heads, headSize: size / heads, positions: longest },
    parameters: { transformer, ...(isTied ? {} : head) } as SpecTree,
    deviation: numeric["initializer_range"] as number,
    head: "lm_head",
    // Older files have the mask of each layer.
    isLeftOut: (name) => /\.attn\.(masked_)?bias$/.test(name) || (isTied && name === "lm_head.weight"),
    apply: (parameters, input) => applied(block, longest, parameters as unknown as Gpt2Tensors, input),
  };
}

const normSpec = (size: number): SpecTree => ({ weight: spec([size], "ones"), bias: spec([size], "zeros") });

/** The weights of a `Conv1D`; `factor` is that of the deviation of its start. */
const convolutionSpec = (inputs: number, outputs: number, factor = 1): Record<string, ParameterSpec> => ({
  weight: { ...spec([inputs, outputs], "normal"), isLinear: true, isInputsFirst: true, factor },
  bias: spec([outputs], "zeros"),
});

const blockSpec = (size: number, hidden: number, factor: number): SpecTree => ({
  ln_1: normSpec(size),
  attn: { c_attn: convolutionSpec(size, 3 * size), c_proj: convolutionSpec(size, size, factor) },
  ln_2: normSpec(size),
  mlp: { c_fc: convolutionSpec(size, hidden), c_proj: convolutionSpec(hidden, size, factor) },
});

interface Norm {
  readonly weight: Tensor;
  readonly bias: Tensor;
}

interface BlockTensors {
  readonly ln_1: Norm;
  readonly attn: Readonly<Record<"c_attn" | "c_proj", LinearPart>>;
  readonly ln_2: Norm;
  readonly mlp: Readonly<Record<"c_fc" | "c_proj", LinearPart>>;
}

interface Gpt2Tensors {
  readonly transformer: {
    readonly wte: { readonly weight: Tensor };
    readonly wpe: { readonly weight: Tensor };
    readonly h: readonly BlockTensors[];
    readonly ln_f: Norm;
  };
  readonly lm_head?: LinearPart;
}

function applied(
  block: Block,
  longest: number,
  { transformer, lm_head: head }: Gpt2Tensors,
  input: DecoderInput,
): Tensor {
  const { wte, wpe, h: layers, ln_f: norm } = transformer;
  const { ids, positions, place, context } = input;
  const time = ids.shape[1] ?? 0;
  if (time > longest)
    throw new MpError(
      "MP_SHAPE_MISMATCH",
      `causalLm: ids must have at most ${longest} tokens in a row, n_positions, got ${time}; pass shorter rows`,
    );
  const rows = add(
    scope("wte", () => embedded(wte.weight, ids)),
    scope("wpe", () => embedded(wpe.weight, positions)),
  );
  const x = throughBlocks("h", layers, dropped(rows, block.rates.rows, input), input, (own, y, index) =>
    blockOutput(block, own, y, index, input),
  );
  const last = scope("ln_f", () => normalized(block, norm, atPlace(x, place)));
  return scope("lm_head", () => linear(head ?? wte, last, context));
}

const dropped = (x: Tensor, share: number, { context }: DecoderInput): Tensor =>
  share === 0 ? x : dropout(share).apply({}, x, context);

/** Its statistics are in f32 under any policy. */
const normalized = ({ epsilon }: Block, { weight, bias }: Norm, x: Tensor): Tensor =>
  layerNormalization(x, widened(weight, x), widened(bias, x), { epsilon });

function blockOutput(block: Block, own: BlockTensors, x: Tensor, index: number, input: DecoderInput): Tensor {
  const { size, heads, rates } = block;
  const layer = <K extends string>(parts: Readonly<Record<K, LinearPart>>, name: K, y: Tensor): Tensor =>
    scope(name, () => linear({ ...parts[name], isInputsFirst: true }, y, input.context));
  const attended = scope("attn", () => {
    const [batch = 0, time = 0] = x.shape;
    const stacked = layer(own.attn, "c_attn", normalized(block, own.ln_1, x));
    const [query, key, value] = split(stacked, 3, -1).map((y) =>
      transpose(reshape(y, [batch, time, heads, size / heads]), [0, 2, 1, 3]),
    ) as [Tensor, Tensor, Tensor];
    const scale = block.scaleOf(index);
    const scaled = scale === 1 ? query : mul(query, scale);
    const mixed = droppedAttention(index, { query: scaled, key, value }, rates.shares, input);
    const joined = reshape(transpose(mixed, [0, 2, 1, 3]), [batch, time, size]);
    return dropped(layer(own.attn, "c_proj", joined), rates.outputs, input);
  });
  const middle = add(x, attended);
  const fed = scope("mlp", () => {
    const read = layer(own.mlp, "c_fc", normalized(block, own.ln_2, middle));
    return dropped(layer(own.mlp, "c_proj", block.activation(read)), rates.outputs, input);
  });
  return add(middle, fed);
}
