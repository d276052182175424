import { checks } from "@mp/core/internal";
import { saveFolder } from "../safetensors/save-weights.js";
import type { CausalLm, CausalLmParameters } from "./causal-lm.js";

/**
 * Writes `model.safetensors` and `config.json`, which `AutoModelForCausalLM.from_pretrained` of transformers loads. Each
 * file is replaced whole or not at all.
 * @throws MP_IO; MP_DTYPE_MISMATCH for parameters that are neither f32 nor bf16
 */
export async function saveCausalLm(
  folder: string,
  { config }: CausalLm,
  params: CausalLmParameters,
): Promise<void> {
  checks.path("saveCausalLm: folder", folder);
  await saveFolder("saveCausalLm", folder, {
    names: ["model.safetensors", "config.json"],
    tree: params,
    config,
    prefix: "",
  });
}
