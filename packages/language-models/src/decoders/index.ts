/** `@mp/nn/transformers`: language models that a config.json of Hugging Face describes, with their published weights. */
import { hideFromOrigins } from "@mp/graph/internal";

hideFromOrigins(import.meta.url);

export {
  type CausalLm,
  type CausalLmConfig,
  type CausalLmOptions,
  type CausalLmParameters,
  causalLm,
} from "./causal-lm.js";
export type { Attend, CausalLmInput, Heads, ModelSizes } from "./decoder.js";
export type { LinearPlace } from "./linear-place.js";
export { type LoadCausalLmOptions, type LoadedCausalLm, loadCausalLm } from "./load-causal-lm.js";
export { nextTokenLoss } from "./next-token-loss.js";
export { saveCausalLm } from "./save-causal-lm.js";
