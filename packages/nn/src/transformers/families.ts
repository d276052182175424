/** The families of models by their `model_type`. */
import type { Family } from "./decoder.js";
import { LLAMA_FIELDS, llamaDecoder } from "./llama.js";

export const FAMILIES: Readonly<Record<string, Family>> = {
  llama: {
    architectures: ["LlamaForCausalLM", "LlamaModel"],
    fields: LLAMA_FIELDS,
    prefix: "model",
    targets: ["q_proj", "v_proj"],
    decoder: (config, ignored) => {
      const hasBias = config["attention_bias"] === true;
      const biases = { input: hasBias, output: hasBias, feed: config["mlp_bias"] === true };
      return llamaDecoder(config, { biases }, ignored);
    },
  },
};
