// Fields of any config.json that do not change what a model computes, and those that would, but are not computed here.

import { checks } from "@mp/graph/internal";
import { type FieldTable, names, optional, unused } from "@mp/nn/internal";
import { nonNegative } from "./field-checks.js";

export const SHARED: FieldTable = {
  // They choose the family.
  model_type: optional(checks.text),
  architectures: optional(names),
  initializer_range: optional(nonNegative, 0.02),
  // Names of files, versions, dtypes and places of storage.
  ...unused(`_name_or_path _commit_hash transformers_version torch_dtype dtype transformers.js_config
    unsloth_fixed unsloth_version is_llama_config torchscript use_bfloat16 tokenizer_class`),
  // How a call computes: kernels, caches, what is returned besides the logits.
  ...unused(`use_cache pretraining_tp _attn_implementation attn_implementation
    _attn_implementation_autoset output_attentions output_hidden_states return_dict
    chunk_size_feed_forward is_decoder tie_encoder_decoder tf_legacy_loss`),
  // Tokens that tokenizers and generation look at.
  ...unused(`bos_token_id eos_token_id pad_token_id sep_token_id cls_token_id mask_token_id unk_token_id
    decoder_start_token_id forced_bos_token_id forced_eos_token_id begin_suppress_tokens
    suppress_tokens bad_words_ids prefix`),
  // Generation, which older files have here and newer ones in generation_config.json.
  ...unused(`max_length min_length do_sample early_stopping num_beams num_beam_groups diversity_penalty
    temperature top_k top_p typical_p repetition_penalty length_penalty no_repeat_ngram_size
    encoder_no_repeat_ngram_size num_return_sequences output_scores return_dict_in_generate
    remove_invalid_values exponential_decay_length_penalty`),
  // Heads of other tasks.
  ...unused("id2label label2id num_labels problem_type finetuning_task task_specific_params"),

  // Features that no family here has, with the values that turn them off.
  auto_map: { only: [{}], because: "code of its own decides what it computes" },
  quantization_config: {
    only: [],
    because: "its weights are codes; take the files of the unquantized model",
  },
  is_encoder_decoder: { only: [false], because: "there is no encoder" },
  add_cross_attention: { only: [false], because: "there is no encoder to attend to" },
  cross_attention_hidden_size: { only: [], because: "there is no encoder to attend to" },
  pruned_heads: { only: [{}], because: "all layers have the same heads" },
  per_layer_config: { only: [{}], because: "all layers are alike" },
};
