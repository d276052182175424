/** `@mp/nn/generate`: text from a language model, token by token, with a cache of keys and values on the engine. */
import { hideFromOrigins } from "@mp/graph/internal";

hideFromOrigins(import.meta.url);

export { generate } from "./generate.js";
export { type GeneratorOptions, generator, type TextGenerator } from "./generator.js";
export { type OnnxDecoder, onnxDecoder } from "./onnx-decoder.js";
export type { GenerateOptions, TokenStream } from "./stream-options.js";
