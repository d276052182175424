import { hideFromOrigins } from "@mp/graph/internal";

hideFromOrigins(import.meta.url);

// Models and their files

export {
  type CausalLm,
  type CausalLmConfig,
  type CausalLmOptions,
  type CausalLmParameters,
  causalLm,
} from "./decoders/causal-lm.js";
export type { Attend, CausalLmInput, Heads, ModelSizes } from "./decoders/decoder.js";
export { type LoadCausalLmOptions, type LoadedCausalLm, loadCausalLm } from "./decoders/load-causal-lm.js";
export { nextTokenLoss } from "./decoders/next-token-loss.js";
export { saveCausalLm } from "./decoders/save-causal-lm.js";

// Generation

export { generate } from "./generate/generate.js";
export { type GeneratorOptions, generator, type TextGenerator } from "./generate/generator.js";
export { type OnnxDecoder, onnxDecoder } from "./generate/onnx-decoder.js";
export type { GenerateOptions, TokenStream } from "./generate/stream-options.js";
