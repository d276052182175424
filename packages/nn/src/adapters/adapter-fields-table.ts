// The fields of an adapter_config.json of peft.
import { checks } from "@mp/graph/internal";
import { type FieldTable, optional, required, unused } from "../fields/config-fields.js";
import { extent, positive, rate } from "../fields/field-checks.js";
import { anything } from "../option-kinds.js";

const off = (because: string): { readonly only: readonly unknown[]; readonly because: string } => ({
  only: [false, {}, []],
  because,
});

export const ADAPTER_FIELDS: FieldTable = {
  r: required(extent),
  lora_alpha: required(positive),
  lora_dropout: optional(rate, 0),
  use_rslora: optional(checks.truth, false),
  // The file of weights says which layers have adapters; these fields say which layers should.
  target_modules: optional(anything),
  exclude_modules: optional(anything),
  layers_to_transform: optional(anything),
  layers_pattern: optional(anything),
  modules_to_save: optional(
    checks.listOf("names of modules", (value) => typeof value === "string"),
    [],
  ),

  peft_type: { only: ["LORA"], because: "adapters of other kinds are computed otherwise" },
  bias: { only: ["none"], because: "biases of the base are not trained" },
  init_lora_weights: {
    only: [true, false, "gaussian", "orthogonal", "eva"],
    because: "it has changed the base too; let peft convert it, by path_initial_model_for_weight_conversion",
  },
  rank_pattern: off("all layers have the same rank"),
  alpha_pattern: off("all layers have the same scale"),
  trainable_token_indices: off("only linear layers have adapters"),
  target_parameters: off("only linear layers have adapters"),
  layer_replication: off("layers are those of the base"),
  use_dora: off("magnitudes of DoRA are not computed"),
  use_qalora: off("inputs are not pooled"),
  use_bdlora: off("matrices are not block-diagonal"),
  lora_bias: off("adapters have no biases"),
  alora_invocation_tokens: off("adapters act on all tokens"),
  arrow_config: off("there is one adapter"),
  kasa_config: off("the base is not decomposed"),
  monteclora_config: off("adapters are not sampled"),
  megatron_config: off("layers are not divided"),

  // The layer's type decides the layout; peft corrects a value that does not fit the type.
  ...unused("fan_in_fan_out"),
  // Names, versions, and settings for the work before and during training.
  ...unused(`auto_mapping base_model_name_or_path corda_config ensure_weight_tying eva_config
    inference_mode loftq_config lora_ga_config megatron_core peft_version qalora_group_size
    revision runtime_config task_type velora_config`),
};
