import { checks, readOptions, withDefault } from "@mp/graph/internal";
import { saveFolder } from "../safetensors/save-weights.js";
import type { NamedParameters } from "./adaptable-model.js";
import { adaptersAt } from "./adapter-tree.js";
import type { Lora } from "./lora.js";
import { withPart } from "./tree-part.js";

export const FILES = ["adapter_model.safetensors", "adapter_config.json"] as const;

/** Prefix of the names of a model's parameters in peft's files. */
export const PREFIX = "base_model.model.";

export interface SaveAdapterOptions {
  /** Name or folder of the model to which the adapter belongs, for `AutoPeftModelForCausalLM`; default none. */
  readonly base?: string;
}

const OPTIONS = { base: withDefault("", checks.text) };

/**
 * Writes `adapter_model.safetensors` and `adapter_config.json` for `PeftModel.from_pretrained` of peft. Each file is
 * replaced as a whole or not at all, the weights first.
 * @throws MP_IO; MP_INVALID_ARGUMENT and MP_SHAPE_MISMATCH for adapters of other layers, of another rank or size
 */
export async function saveAdapter(
  folder: string,
  adapted: Lora<never, unknown>,
  adapters: NamedParameters,
  options: SaveAdapterOptions = {},
): Promise<void> {
  checks.path("saveAdapter: folder", folder);
  const { base } = readOptions("saveAdapter", options, OPTIONS, {
    example: '{ base: "HuggingFaceTB/SmolLM2-135M" }',
  });
  adaptersAt("saveAdapter: adapters", adapters, adapted);
  const { rank, alpha, targets, dropout, useRslora } = adapted.settings;
  const { modules } = adapted.saved;
  const named = adapted.places.reduce<unknown>(
    (tree, { path }) =>
      withPart(tree, path.split("/"), (part) => {
        const { weight, ...matrices } = part as Readonly<Record<string, unknown>>;
        return weight === undefined ? matrices : { base_layer: { weight }, ...matrices };
      }),
    adapters,
  );
  await saveFolder("saveAdapter", folder, {
    names: FILES,
    tree: named as NamedParameters,
    prefix: PREFIX,
    config: {
      peft_type: "LORA",
      task_type: "CAUSAL_LM",
      base_model_name_or_path: base === "" ? null : base,
      inference_mode: true,
      r: rank,
      lora_alpha: alpha,
      lora_dropout: dropout,
      use_rslora: useRslora,
      target_modules: targets,
      bias: "none",
      fan_in_fan_out: adapted.places.some(({ isInputsFirst }) => isInputsFirst),
      init_lora_weights: true,
      ...(modules.length === 0 ? {} : { modules_to_save: modules }),
    },
  });
}
