import { existsSync } from "node:fs";
import { join } from "node:path";
import { MpError, zeros } from "@mp/core";
import { checks, readOptions, withDefault } from "@mp/graph/internal";
import {
  loadStored,
  type Quantization,
  quantizeWeight,
  readJson,
  type Store,
  storeFloats,
} from "@mp/nn/internal";
import {
  type CausalLm,
  type CausalLmOptions,
  type CausalLmParameters,
  MODEL,
  readModel,
} from "./causal-lm.js";
import type { Decoder, Family } from "./decoder.js";
import { HEAD } from "./linear.js";
import { mapSpecs } from "./parameter-spec.js";

export interface LoadCausalLmOptions extends CausalLmOptions {
  /**
   * The format in which weights are kept. `f32` (default) suits any training. For a frozen base, `bf16` keeps
   * the bits of weights that are bf16 in the file; `int8` and `nf4` store linear layers other than `lm_head`
   * in 8 or about 4.1 bits per weight, and the rest in bf16.
   */
  readonly base?: "f32" | "bf16" | Quantization;
}

export interface LoadedCausalLm {
  readonly model: CausalLm;
  readonly params: CausalLmParameters;
}

const OPTIONS = { ...MODEL, base: withDefault("f32" as const, checks.oneOf("f32", "bf16", "int8", "nf4")) };

/**
 * Loads a model and its weights from a folder as Hugging Face publishes them: `config.json`, and `model.safetensors`
 * or `model.safetensors.index.json` with its shards.
 * @throws MP_IO for missing files, MP_PARSE for broken ones; MP_CHECKPOINT_MISMATCH for weights of another model; as
 *   `causalLm` for the configuration
 */
export async function loadCausalLm(
  folder: string,
  options: LoadCausalLmOptions = {},
): Promise<LoadedCausalLm> {
  checks.path("loadCausalLm: folder", folder);
  const { base, ...own } = readOptions("loadCausalLm", options, OPTIONS, { example: '{ base: "bf16" }' });
  const configFile = join(folder, "config.json");
  const config = await readJson("loadCausalLm", configFile);
  const { model, family, decoder } = namingSource(configFile, () => readModel(config, own));
  const dtype = base === "f32" ? "f32" : "bf16";
  const params = mapSpecs(decoder.parameters, ({ shape }) => zeros(shape, dtype)) as CausalLmParameters;
  const remedy = `correct ${configFile} (a size such as num_hidden_layers, or tie_word_embeddings), or download the weights that it describes`;
  const { loaded } = await loadStored(
    { what: "loadCausalLm", path: weightsIn(folder), remedy: () => remedy },
    { params },
    { rename: toTreeName(family, decoder), store: storing(base, model) },
  );
  return { model, ...loaded };
}

/** Adds to errors the path of the file or parameter that they are about. */
function namingSource<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (!MpError.is(cause)) throw cause;
    const details = { ...cause.details, path };
    throw new MpError(cause.code, `loadCausalLm: ${path}: ${cause.message}`, { cause, details });
  }
}

/** Makes the function that stores a leaf. Linear layers are quantized one by one: only one at a time is in f32. */
function storing(base: "f32" | "bf16" | Quantization, { linearLayers }: CausalLm): Store {
  if (base === "f32" || base === "bf16") return storeFloats;
  const layers = linearLayers.filter(({ isHead }) => !isHead);
  const paths = new Set(layers.map(({ path }) => `params/${path}/weight`));
  return (leaf, numbers, path) => {
    if (!paths.has(path)) return storeFloats(leaf, numbers, path);
    return namingSource(path, () => quantizeWeight(base, numbers));
  };
}

/** Maps names in the file to those in the tree. Files without a head omit the prefix: `layers.0…`. */
const toTreeName =
  ({ prefix, buffers }: Family, { parameters }: Decoder) =>
  (name: string): string | undefined => {
    if (name.startsWith(`${HEAD}.`)) return HEAD in parameters ? name : undefined;
    const whole = name.startsWith(`${prefix}.`) ? name : `${prefix}.${name}`;
    return buffers.test(whole) ? undefined : whole;
  };

const WEIGHTS = ["model.safetensors", "model.safetensors.index.json"] as const;

function weightsIn(folder: string): string {
  const found = WEIGHTS.map((name) => join(folder, name)).find(existsSync);
  if (found !== undefined) return found;
  throw new MpError(
    "MP_IO",
    `loadCausalLm: ${folder} has no ${WEIGHTS.join(" and no ")}; download one of them; older files such as pytorch_model.bin are saved again by save_pretrained of transformers`,
    { details: { path: folder } },
  );
}
