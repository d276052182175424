import { checks, readOptions, withDefault } from "@mp/graph/internal";
import { invalid } from "@mp/nn/internal";
import type { ModelSizes } from "../decoders/decoder.js";
import { nonNegative } from "../decoders/field-checks.js";
import type { Sampling } from "./sampling.js";

/** Options for one text. */
export interface GenerateOptions extends Partial<Sampling> {
  /** Tokens, or sequences of tokens, that end the text and are not part of it. Default none. */
  readonly stop?: readonly (number | readonly number[])[];
  /** Largest number of tokens of the text; default 256, or as many as fit into the cache. */
  readonly maxTokens?: number;
  /** Selects the random numbers: the same seed gives the same text. Default 0. */
  readonly seed?: number;
  /** Ends the text after the current token when aborted. */
  readonly signal?: AbortSignal;
}

/**
 * Tokens as they are generated. The return value says what ended the text: a stop, `maxTokens` or the signal.
 * `break` also ends it.
 */
export type TokenStream = AsyncGenerator<number, "stop" | "maxTokens" | "signal", undefined>;

const isToken = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
const isTokens = (value: unknown): boolean =>
  Array.isArray(value) && value.length > 0 && value.every(isToken);

const OPTIONS = {
  temperature: withDefault(1, nonNegative),
  topK: withDefault(0, checks.integer(0)),
  topP: withDefault(
    1,
    checks.claim("above 0 and at most 1", (value) => typeof value === "number" && value > 0 && value <= 1),
  ),
  stop: withDefault(
    [] as readonly (number | readonly number[])[],
    checks.listOf("tokens, or of lists of tokens", (value) => isToken(value) || isTokens(value)),
  ),
  maxTokens: checks.optional(checks.count),
  seed: withDefault(0, checks.integer(0)),
  signal: checks.optional(
    checks.claim(
      "the signal of an AbortController",
      (value) => typeof (value as Partial<AbortSignal> | null)?.throwIfAborted === "function",
    ),
  ),
};

export const DEFAULT_TOKENS = 256;

/** The prompt and the options of a text, with defaults filled in. */
export interface TextPlan extends Sampling {
  readonly prompt: readonly number[];
  readonly stop: readonly (readonly number[])[];
  readonly maxTokens: number;
  readonly seed: number;
  readonly signal?: AbortSignal | undefined;
}

interface Room extends Pick<ModelSizes, "vocabulary" | "positions"> {
  readonly length: number;
}

/** @throws MP_INVALID_ARGUMENT for options out of range, and a prompt that does not fit into the cache */
export function textPlan(prompt: Iterable<number>, options: GenerateOptions, room: Room): TextPlan {
  const read = readOptions("generate", options, OPTIONS, { example: "{ maxTokens: 100 }" });
  const tokens = readPrompt(prompt, room.vocabulary);
  const { maxTokens = Math.max(1, Math.min(DEFAULT_TOKENS, room.length - tokens.length)) } = read;
  if (tokens.length + maxTokens > room.length)
    throw invalid(
      `generate: a prompt of ${tokens.length} tokens and maxTokens of ${maxTokens} must fit into the length of ${room.length}${remedy(room)}`,
    );
  const stop = read.stop.map((each) => (typeof each === "number" ? [each] : each));
  return { ...read, prompt: tokens, stop, maxTokens };
}

const remedy = ({ length, positions }: Room): string =>
  length < positions
    ? "; make the generator with a larger length"
    : ", the model's max_position_embeddings; shorten them";

/** @throws MP_INVALID_ARGUMENT for an empty prompt, or one with tokens outside the vocabulary */
export function readPrompt(prompt: Iterable<number>, vocabulary: number): readonly number[] {
  const isIterable = typeof prompt === "object" && prompt !== null && Symbol.iterator in prompt;
  // A tokenizer of JavaScript may give BigInts.
  const tokens = isIterable ? Array.from(prompt, Number) : [];
  if (tokens.length === 0) throw invalid("generate: prompt must be a list of at least one token");
  const place = tokens.findIndex((token) => !isToken(token) || token >= vocabulary);
  if (place < 0) return tokens;
  throw invalid(
    `generate: prompt must hold tokens from 0 to ${vocabulary - 1}, got ${tokens[place]} at ${place}; its tokenizer must be the model's`,
  );
}
