import { type HostTensor, MpError, remat, scope, type Tensor, type TensorTree, type Tree } from "@mp/core";
import { elementCount } from "@mp/core/graph";
import { asTensor, expand, range, reshape } from "@mp/core/ops";
import type { OutputAxis } from "@mp/core/optim";
import { checks, type DefaultedOptions, readOptions, shown, withDefault } from "@mp/graph/internal";
import type { Layer } from "@mp/nn";
import type { LinearPlace, ReplaceableWeights } from "@mp/nn/adapters";
import { type FieldValues, ignoreOption, mismatch, readFields } from "@mp/nn/internal";
import { causalAttention } from "./causal-attention.js";
import type { CausalLmInput, Decoder, DecoderInput, Family, ModelSizes } from "./decoder.js";
import { FAMILIES } from "./families.js";
import { HEAD } from "./linear.js";
import { initParameters, listLinearLayers, listShapes } from "./parameter-spec.js";

/** The content of a config.json. */
export type CausalLmConfig = Readonly<Record<string, unknown>>;

/** Parameters by their published names: `model/layers/0/self_attn/q_proj/weight`. */
export type CausalLmParameters = { readonly [name: string]: Tree<HostTensor> };

export interface CausalLmOptions {
  /**
   * `blocks` keeps only each block's input for the backward pass and recomputes the rest (gradient checkpointing);
   * `none` (default) keeps everything.
   */
  readonly remat?: "blocks" | "none";
  /** Unknown fields of the configuration to accept because they do not affect the result; default []. */
  readonly ignore?: readonly string[];
}

/** A causal language model: tokens attend only to themselves and earlier ones. */
export interface CausalLm extends Layer<CausalLmParameters, CausalLmInput> {
  readonly config: CausalLmConfig;
  /** The linear layers, which can get adapters. */
  readonly linearLayers: readonly LinearPlace[];
  /** The layers that get adapters by default, by the last parts of their paths, as in peft. */
  readonly targets: readonly string[];
  /** The weights that an adapter's file may replace. */
  readonly weights: ReplaceableWeights;
  readonly sizes: ModelSizes;
  /** The output axis of a matrix, by its path in the model's parameters, for `muon`. */
  readonly outputAxis: OutputAxis;
}

export const MODEL: DefaultedOptions<CausalLmOptions> = {
  remat: withDefault("none", checks.oneOf("blocks", "none")),
  ignore: ignoreOption,
};

/** A model, with the family and decoder that are needed to read its files. */
export interface ReadModel {
  readonly model: CausalLm;
  readonly family: Family;
  readonly decoder: Decoder;
}

/**
 * Makes the decoder that a config.json of Hugging Face describes, with the published weights' names and
 * layouts. The model maps `{ ids, mask, positions }` to logits [batch, time, vocabulary]. Families: Llama (2,
 * 3, SmolLM), Mistral, Qwen 2 and 3, GPT-2.
 * @throws MP_UNSUPPORTED for another family, and for a field whose effect is not implemented; MP_INVALID_ARGUMENT for
 *   values that do not fit together
 */
export function causalLm(config: CausalLmConfig, options: CausalLmOptions = {}): CausalLm {
  return readModel(config, readOptions("causalLm", options, MODEL, { example: '{ remat: "blocks" }' })).model;
}

export function readModel(
  config: CausalLmConfig,
  { remat: kept, ignore }: Required<CausalLmOptions>,
): ReadModel {
  checks.object("causalLm: config", config);
  const family = findFamily(config);
  const fields = readFields("causalLm: config", config, family.fields, ignore);
  const decoder = family.decoder(fields, ignore);
  const shapes = listShapes(decoder.parameters);
  // Refuses tensors that are too large.
  for (const [path, shape] of shapes) elementCount(shape, `causalLm: config: ${path}`);
  const embeddings = `${family.prefix}/${family.embeddings}/weight`;
  const [outputs = 0, inputs = 0] = shapes.get(embeddings) ?? [];
  const tied = { path: HEAD, inputs, outputs, isInputsFirst: false, isHead: true };
  const linearLayers = listLinearLayers(decoder.parameters, HEAD);
  const outputsFirst = new Set(
    linearLayers.filter((layer) => !layer.isInputsFirst).map(({ path }) => `${path}/weight`),
  );
  const wrapped: typeof remat = kept === "blocks" ? remat : (body) => body;
  const model: CausalLm = {
    name: "causalLm",
    config,
    linearLayers,
    targets: family.targets,
    weights: { shapes, embeddings, head: linearLayers.find(({ isHead }) => isHead) ?? tied },
    sizes: decoder.sizes,
    // 0 for linear weights, 1 for those of a Conv1D and for embeddings.
    outputAxis: (path) => (shapes.get(path)?.length === 2 ? Number(!outputsFirst.has(path)) : undefined),
    init: (key) =>
      initParameters(decoder.parameters, key, fields["initializer_range"] as number) as CausalLmParameters,
    apply: (parameters, input, context) =>
      scope("causalLm", () => {
        return decoder.apply(parameters as TensorTree, { ...readInput(input), context, wrapped });
      }),
  };
  return { model, family, decoder };
}

function findFamily(config: FieldValues): Family {
  const { model_type: type, architectures } = config;
  const family = typeof type === "string" && Object.hasOwn(FAMILIES, type) ? FAMILIES[type] : undefined;
  if (family === undefined)
    throw new MpError(
      "MP_UNSUPPORTED",
      `causalLm: model_type must be one of ${Object.keys(FAMILIES).join(", ")}, got ${shown(type)}; other models come in as ONNX, by fromOnnx`,
    );
  const named: readonly string[] = Array.isArray(architectures) ? architectures : [];
  const others = named.filter((name) => !family.architectures.includes(name));
  if (others.length === 0) return family;
  throw new MpError(
    "MP_UNSUPPORTED",
    `causalLm: architectures of ${shown(type)} must be among ${family.architectures.join(", ")}, got ${others.join(", ")}`,
  );
}

function readInput(input: CausalLmInput): Omit<DecoderInput, "context" | "wrapped"> {
  const { ids, mask, positions, attend, place } = (input ?? {}) as Partial<CausalLmInput>;
  const [batch, time] = expectTokens("ids", ids);
  if (positions !== undefined) {
    const [rows, columns] = expectTokens("positions", positions);
    if (rows !== batch || columns !== time)
      throw mismatch(
        `causalLm: positions must have the shape of ids, [${batch}, ${time}], got [${rows}, ${columns}]`,
      );
  }
  return {
    ids: ids as Tensor,
    attend: attend ?? ((_layer, heads) => causalAttention(heads, mask)),
    mask,
    place,
    positions: positions ?? expand(reshape(range(0, time), [1, time]), [batch, time]),
  };
}

function expectTokens(name: string, given: Tensor | undefined): readonly [batch: number, time: number] {
  const { dtype, shape } = asTensor(given as Tensor, `causalLm: ${name}`);
  if (dtype === "i32" && shape.length === 2) return shape as readonly [number, number];
  throw mismatch(
    `causalLm: ${name} must be i32 [batch, time], got ${dtype} [${shape.join(", ")}]; pass { ids }`,
  );
}
