import { cacheLength, type GeneratorOptions, generator, modelPart, sizesWith } from "./generator.js";
import {
  DEFAULT_TOKENS,
  type GenerateOptions,
  readPrompt,
  type TokenStream,
  textPlan,
} from "./stream-options.js";

/**
 * Generates one text. Its generator is as long as the text needs, and is freed when the text ends, also by
 * `break`. For several texts, make one `generator`.
 * @example
 * ```ts
 * for await (const token of generate({ backend, model, params }, prompt, { maxTokens: 100 })) show(token);
 * ```
 * @throws as `generator` and its `generate`, when the first token is requested
 */
export async function* generate(
  options: Omit<GeneratorOptions, "length">,
  prompt: Iterable<number>,
  text: GenerateOptions = {},
): TokenStream {
  modelPart("generate: model", options.model);
  const sizes = sizesWith(options);
  const tokens = readPrompt(prompt, sizes.vocabulary);
  const wanted = tokens.length + (text.maxTokens ?? DEFAULT_TOKENS);
  const length = cacheLength(Math.min(wanted, sizes.positions), sizes.positions);
  // Checks everything before the parameters go to the engine.
  textPlan(tokens, text, { length, ...sizes });
  const writer = await generator({ ...options, length });
  try {
    return yield* writer.generate(tokens, text);
  } finally {
    await writer.dispose();
  }
}
