import { type HostTensor, isHostTensor, leavesOf } from "@mp/core";
import { checks } from "@mp/graph/internal";
import { saveFolder } from "@mp/nn/internal";
import type { CausalLm, CausalLmConfig, CausalLmParameters } from "./causal-lm.js";

/**
 * Writes `model.safetensors` and `config.json` for `AutoModelForCausalLM.from_pretrained` of transformers; if the
 * configuration has a dtype, it becomes that of the weights. Each file is replaced as a whole or not at all.
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
    config: withDtype(config, params),
    prefix: "",
  });
}

/** Sets the dtype in which transformers loads the weights: an old one in the file would round float32 weights. */
function withDtype(config: CausalLmConfig, params: CausalLmParameters): CausalLmConfig {
  const leaves = leavesOf<HostTensor>(params, isHostTensor, "saveCausalLm: params");
  const dtype = leaves.some(([, leaf]) => leaf.dtype === "f32") ? "float32" : "bfloat16";
  const names = ["dtype", "torch_dtype"].filter((name) => config[name] !== undefined);
  return { ...config, ...Object.fromEntries(names.map((name) => [name, dtype])) };
}
