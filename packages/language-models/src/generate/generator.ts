import {
  type Backend,
  key,
  MpError,
  mixed,
  type PrecisionChoice,
  statefulPredictor,
  type Tensor,
  type TrainingWarning,
  tensor,
} from "@mp/core";
import { reshape } from "@mp/core/ops";
import { checks, later, readOptions, shown, withDefault } from "@mp/graph/internal";
import type { LayerContext } from "@mp/nn";
import type { Lora, NamedParameters } from "@mp/nn/adapters";
import { invalid } from "@mp/nn/internal";
import type { CausalLm, CausalLmParameters } from "../decoders/causal-lm.js";
import type { CausalLmInput, ModelSizes } from "../decoders/decoder.js";
import { type Cache, emptyCache, promptAttention, tokenAttention } from "./cache.js";
import { sampleToken } from "./sampling.js";
import { StopSequences } from "./stop-sequences.js";
import { type GenerateOptions, type TextPlan, type TokenStream, textPlan } from "./stream-options.js";

export interface GeneratorOptions {
  readonly backend: Backend;
  /** A model of `causalLm` or `loadCausalLm`. */
  readonly model: CausalLm;
  /** The model's parameters, as `loadCausalLm` gives them, quantized or not. */
  readonly params: CausalLmParameters;
  /** Adapters for the model, as `loadAdapter` gives them; default none. */
  readonly adapter?: { readonly adapted: Lora<CausalLmInput>; readonly adapters: NamedParameters };
  /**
   * Largest number of tokens of prompt and text together, rounded up to a power of two. The limit is the
   * model's `max_position_embeddings`; default 1024, or the limit if it is less. The cache takes memory for
   * all tokens.
   */
  readonly length?: number;
  /** The precision in which the model computes, as for `predictor`; default `mixed()`. */
  readonly precision?: PrecisionChoice;
  /** Called once with each warning; default prints it to stderr. */
  readonly onWarning?: (warning: TrainingWarning) => void;
}

/** A model on an engine that generates one text at a time. */
export interface TextGenerator {
  /** Largest number of tokens of prompt and text together. */
  readonly length: number;
  /**
   * Generates the tokens that follow a prompt, starting with the first `next()`. Starting another text ends
   * this one, whose `next()` then throws MP_DISPOSED.
   * @throws MP_INVALID_ARGUMENT for options out of range and a prompt that does not fit; the stream throws
   *   MP_NON_FINITE for logits that are not finite
   */
  generate(prompt: Iterable<number>, options?: GenerateOptions): TokenStream;
  /** Waits for the current token, then frees everything. Idempotent; any other call afterwards throws MP_DISPOSED. */
  dispose(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Sizes of the model, with the vocabulary of its adapter, whose file may have embeddings of more tokens. */
export function sizesWith({ model, adapter }: Pick<GeneratorOptions, "model" | "adapter">): ModelSizes {
  const [vocabulary] = adapter?.adapted?.saved?.shapes.get(model.weights.embeddings) ?? [];
  return vocabulary === undefined ? model.sizes : { ...model.sizes, vocabulary };
}

/** Makes a check for an object with fields, whose names are separated by spaces. */
const withFields = (names: string, allowed: string): checks.Check =>
  checks.claim(
    allowed,
    (value) => typeof value === "object" && value !== null && names.split(" ").every((name) => name in value),
  );

export const modelPart: checks.Check = withFields("sizes weights apply", "a model such as that of causalLm");

const OPTIONS = {
  backend: later,
  model: modelPart,
  params: later,
  adapter: checks.optional(
    withFields("adapted adapters", "the { adapted, adapters } that loadAdapter gives"),
  ),
  length: checks.optional(checks.count),
  precision: withDefault(mixed(), later),
  onWarning: checks.optional(checks.callback),
};

const DEFAULT_LENGTH = 1024;
/** Most programs: one for each power of two to which a prompt is padded, and one for a single token. */
const PROGRAMS = 33;

/**
 * Loads a model onto an engine to generate texts: parameters, and a cache of keys and values with a fixed
 * length. Programs are compiled at first use, one for each power of two to which a prompt is padded and one
 * for a single token.
 * @example
 * ```ts
 * const writer = await generator({ backend, model, params, length: 2048 });
 * for await (const token of writer.generate(prompt, { temperature: 0.7, topP: 0.9 })) show(token);
 * await writer.dispose();
 * ```
 * @throws MP_INVALID_ARGUMENT for options out of range; as `predictor` for parameters and precision
 */
export async function generator(options: GeneratorOptions): Promise<TextGenerator> {
  const read = readOptions("generator", options, OPTIONS, { example: "{ backend, model, params }" });
  const { backend, model, params, adapter, precision, onWarning } = read;
  const sizes = sizesWith(options);
  const length = cacheLength(read.length ?? Math.min(DEFAULT_LENGTH, sizes.positions), sizes.positions);
  // Refuses an adapter of another model before anything goes to the engine.
  adapter?.adapted.join(adapter.adapters as never, params as never);
  const running = await statefulPredictor({
    name: "generator",
    backend,
    precision,
    model: modelWithCache(model, adapter?.adapted),
    params: adapter === undefined ? { base: params } : { base: params, adapters: adapter.adapters },
    modelState: { cache: emptyCache(sizes, length) },
    programs: PROGRAMS,
    ...(onWarning === undefined ? {} : { onWarning }),
  });
  let latest: TextPlan | undefined;
  const ask: Ask = async (plan, tokens, place) => {
    if (tokens === plan.prompt) latest = plan;
    if (latest !== plan)
      throw new MpError("MP_DISPOSED", "generate: this text has ended, since the generator began another");
    const time = Math.min(powerOfTwo(tokens.length), length);
    const ids = new Int32Array(time);
    ids.set(tokens);
    const data = { ids: tensor(ids, [1, time]), place: tensor(Int32Array.of(place), []) };
    const { result, applied } = await running.predict(data);
    if (!applied)
      throw new MpError(
        "MP_NON_FINITE",
        `generate: logits after ${place + 1} tokens are not finite; compute in a wider precision, such as float32()`,
      );
    return result.data as Float32Array;
  };
  const dispose = (): Promise<void> => running.dispose();
  return {
    length,
    generate: (prompt, given = {}) => streamText(textPlan(prompt, given, { length, ...sizes }), ask),
    dispose,
    [Symbol.asyncDispose]: dispose,
  };
}

/** Computes the logits after `tokens` of a text; the last of them is at position `place` of the cache. */
type Ask = (plan: TextPlan, tokens: readonly number[], place: number) => Promise<Float32Array>;

async function* streamText(plan: TextPlan, ask: Ask): TokenStream {
  const { prompt, maxTokens, seed, signal } = plan;
  const stops = new StopSequences(plan.stop);
  const stream = key(seed);
  let tokens = prompt;
  for (let made = 0; made < maxTokens; made++) {
    if (signal?.aborted === true) {
      yield* stops.rest();
      return "signal";
    }
    const token = sampleToken(await ask(plan, tokens, prompt.length + made - 1), plan, stream, made);
    const { free, isStop } = stops.take(token);
    yield* free;
    if (isStop) return "stop";
    tokens = [token];
  }
  yield* stops.rest();
  return "maxTokens";
}

/** The smallest power of two that is at least `count`. */
const powerOfTwo = (count: number): number => 2 ** Math.ceil(Math.log2(count));

/** Rounds up to a power of two, but at most `positions`. @throws MP_INVALID_ARGUMENT for more than that */
export function cacheLength(wanted: number, positions: number): number {
  if (wanted <= positions) return Math.min(powerOfTwo(wanted), positions);
  throw invalid(
    `generator: length must be at most the model's max_position_embeddings, ${positions}, got ${shown(wanted)}`,
  );
}

/** The model with a cache as state, for a prompt from the first position on, or one token at any position. */
const modelWithCache =
  (model: CausalLm, adapted: Lora<CausalLmInput> | undefined) =>
  (
    { base, adapters }: { readonly base: unknown; readonly adapters?: unknown },
    { ids, place }: Readonly<Record<"ids" | "place", Tensor>>,
    context: LayerContext & { readonly modelState: { readonly cache: Cache<Tensor> } },
  ): readonly [logits: Tensor, state: { readonly cache: Cache<Tensor> }] => {
    const { cache } = context.modelState;
    const isToken = ids.shape[1] === 1;
    const { attend, next } = isToken ? tokenAttention(cache, place) : promptAttention(cache);
    const input: CausalLmInput = isToken
      ? { ids, attend, positions: reshape(place, [1, 1]) }
      : { ids, attend, place };
    const logits =
      adapted === undefined
        ? model.apply(base as never, input, context)
        : adapted.apply(adapters as never, base as never, input, context);
    return [logits, { cache: next }];
  };
