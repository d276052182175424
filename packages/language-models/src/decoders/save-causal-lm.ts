import { type HostTensor, isHostTensor, leavesOf } from "@mp/core";
import { checks } from "@mp/graph/internal";
import { saveFolder } from "@mp/nn/internal";
import type { CausalLm, CausalLmConfig, CausalLmParameters } from "./causal-lm.js";

/**
 * Writes `model.safetensors` and `config.json` for `AutoModelForCausalLM.from_pretrained` of transformers.
 * The configuration gets the dtype of the weights, the number of their embeddings, and whether they have a head of
 * their own. Each file is replaced as a whole or not at all.
 * @throws MP_IO; MP_DTYPE_MISMATCH for parameters that are neither f32 nor bf16
 */
export async function saveCausalLm(
  folder: string,
  model: CausalLm,
  params: CausalLmParameters,
): Promise<void> {
  checks.path("saveCausalLm: folder", folder);
  await saveFolder("saveCausalLm", folder, {
    names: ["model.safetensors", "config.json"],
    tree: params,
    config: describe(model, params),
    prefix: "",
  });
}

/** Corrects fields that contradict the weights, as after merging an adapter with its own embeddings. */
function describe({ config, weights, sizes }: CausalLm, params: CausalLmParameters): CausalLmConfig {
  const leaves = new Map(leavesOf<HostTensor>(params, isHostTensor, "saveCausalLm: params"));
  // In another dtype, the old one might round f32 weights.
  const dtype = [...leaves.values()].some((leaf) => leaf.dtype === "f32") ? "float32" : "bfloat16";
  const names = ["dtype", "torch_dtype"].filter((name) => config[name] !== undefined);
  const head = `${weights.head.path}/weight`;
  const [rows = sizes.vocabulary] = leaves.get(weights.embeddings)?.shape ?? [];
  return {
    ...config,
    ...Object.fromEntries(names.map((name) => [name, dtype])),
    ...(rows === sizes.vocabulary ? {} : { vocab_size: rows }),
    ...(leaves.has(head) && !weights.shapes.has(head) ? { tie_word_embeddings: false } : {}),
  };
}
