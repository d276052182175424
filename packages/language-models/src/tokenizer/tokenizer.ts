import { checks, readOptions, shown } from "@mp/graph/internal";
import { invalid } from "@mp/nn/internal";
import type { ChatMessage, ChatTemplate, ChatVariables, Span } from "./chat-template.js";
import { DecodeStream } from "./decode-stream.js";

export interface EncodeOptions {
  /** Whether to add the tokens that the tokenizer puts around a text, such as one for its beginning. Default true. */
  readonly addSpecialTokens?: boolean;
}

export interface DecodeOptions {
  /** Whether to leave out special tokens, such as the one for the end of a text. Default false. */
  readonly skipSpecialTokens?: boolean;
}

export interface ChatOptions {
  /** Whether to end with the beginning of an answer, which the model continues. Default false. */
  readonly addGenerationPrompt?: boolean;
  /** Further variables of the template, such as `tools` or `enable_thinking`. */
  readonly variables?: Readonly<Record<string, unknown>>;
}

/** A chat as tokens, an example for `@mp/data/rows`. */
export interface EncodedChat {
  readonly ids: number[];
  /** 1 for each token of an answer, else 0. */
  readonly mask: number[];
}

/** Ids of the special tokens that `tokenizer_config.json` names. */
export interface SpecialIds {
  readonly bos?: number;
  readonly eos?: number;
  readonly pad?: number;
  readonly unk?: number;
}

/** The part of `@huggingface/tokenizers` that is used. */
export interface LibraryTokenizer {
  encode(text: string, options: { add_special_tokens: boolean }): { readonly ids: number[] };
  decode(
    ids: readonly number[],
    options: { skip_special_tokens: boolean; clean_up_tokenization_spaces: boolean },
  ): string;
  id_to_token(id: number): string | undefined;
}

/** The content of a tokenizer's folder. */
export interface TokenizerParts {
  readonly file: string;
  readonly library: LibraryTokenizer;
  readonly vocabularySize: number;
  readonly template: ChatTemplate | undefined;
  /** Texts of `bos_token` and the like, by their names in templates. */
  readonly specialTokens: Readonly<Record<string, string>>;
  readonly special: SpecialIds;
  readonly isCleanedUp: boolean;
}

const ENCODE = { addSpecialTokens: checks.optional(checks.truth) };
const DECODE = { skipSpecialTokens: checks.optional(checks.truth) };
const CHAT = {
  addGenerationPrompt: checks.optional(checks.truth),
  variables: checks.optional(
    checks.claim("an object", (value) => typeof value === "object" && value !== null),
  ),
};
const isId = (id: unknown): boolean => Number.isSafeInteger(id) && (id as number) >= 0;
const idCheck = checks.claim("a list of integers ≥ 0", (value) => isListWith(value, isId));
const messagesCheck = checks.claim("a list of messages, each with a role", (value) =>
  isListWith(value, (message) => typeof (message as ChatMessage | undefined)?.role === "string"),
);

function isListWith(value: unknown, accepts: (element: unknown) => boolean): boolean {
  return (
    (Array.isArray(value) || ArrayBuffer.isView(value)) &&
    Array.from(value as ArrayLike<unknown>).every(accepts)
  );
}

/** Converts text to token ids and back, as when its model was trained. */
export class Tokenizer {
  /** Path of its `tokenizer.json`. */
  readonly file: string;
  readonly special: SpecialIds;
  /** One more than the largest id; the model's `vocab_size` must be at least this. */
  readonly vocabularySize: number;
  readonly #parts: TokenizerParts;

  constructor(parts: TokenizerParts) {
    this.#parts = parts;
    this.file = parts.file;
    this.vocabularySize = parts.vocabularySize;
    this.special = parts.special;
  }

  /** @throws MP_INVALID_ARGUMENT for a text with a part that the vocabulary lacks */
  encode(text: string, options: EncodeOptions = {}): number[] {
    checks.text("encode: text", text);
    const { addSpecialTokens = true } = readOptions("encode", options, ENCODE);
    return this.#encode(text, addSpecialTokens);
  }

  /** Decodes tokens to text; ids without a token, as in rounded-up vocabularies, are left out. */
  decode(ids: ArrayLike<number>, options: DecodeOptions = {}): string {
    idCheck("decode: ids", ids);
    const { skipSpecialTokens = false } = readOptions("decode", options, DECODE);
    return this.#decode(Array.from(ids), skipSpecialTokens, this.#parts.isCleanedUp);
  }

  /** Decodes tokens one by one. Spaces are not cleaned up, because earlier pieces cannot change. */
  decodeStream(options: DecodeOptions = {}): DecodeStream {
    const { skipSpecialTokens = false } = readOptions("decodeStream", options, DECODE);
    return new DecodeStream((ids) => {
      idCheck("push: id", ids.slice(-1));
      return this.#decode(ids, skipSpecialTokens, false);
    });
  }

  /** Renders a chat as one text. @throws MP_INVALID_ARGUMENT without a template, and for messages that it refuses */
  applyChatTemplate(messages: readonly ChatMessage[], options: ChatOptions = {}): string {
    return this.#template().render(this.#variables("applyChatTemplate", messages, options));
  }

  /**
   * Encodes a chat and marks the tokens of answers: those with at least one character of an answer.
   * @throws MP_INVALID_ARGUMENT as `applyChatTemplate`, and if the answers cannot be found
   */
  encodeChat(messages: readonly ChatMessage[], options: ChatOptions = {}): EncodedChat {
    const variables = this.#variables("encodeChat", messages, options);
    const { text, spans } = this.#template().answers(variables);
    const ids = this.#encode(text, false);
    const places = this.#locateTokens(ids, text);
    if (places === undefined) return { ids, mask: this.#maskByPrefixes(ids, text, spans) };
    const mask = places.map(([start, end]) => Number(spans.some(([from, to]) => start < to && end > from)));
    return { ids, mask };
  }

  #encode(text: string, addSpecialTokens: boolean): number[] {
    const { ids } = this.#parts.library.encode(text, { add_special_tokens: addSpecialTokens });
    if (ids.every(isId)) return ids;
    throw invalid(
      `encode: ${this.file} has no token for a part of ${shown(text)}, and none for unknown parts; remove what the model's vocabulary lacks`,
      { file: this.file },
    );
  }

  #decode(ids: readonly number[], skipSpecialTokens: boolean, isCleanedUp: boolean): string {
    const { library } = this.#parts;
    const known = ids.filter((id) => library.id_to_token(id) !== undefined);
    if (known.length === 0) return "";
    return library.decode(known, {
      skip_special_tokens: skipSpecialTokens,
      clean_up_tokenization_spaces: isCleanedUp,
    });
  }

  #template(): ChatTemplate {
    const { template } = this.#parts;
    if (template !== undefined) return template;
    throw invalid(
      `${this.file}: there is no chat template beside it; put one into chat_template.jinja in that folder, as models for chats have it`,
      { file: this.file },
    );
  }

  #variables(what: string, messages: readonly ChatMessage[], options: ChatOptions): ChatVariables {
    messagesCheck(`${what}: messages`, messages);
    const { addGenerationPrompt = false, variables = {} } = readOptions(what, options, CHAT);
    return {
      tools: null,
      documents: null,
      ...this.#parts.specialTokens,
      ...variables,
      // Templates ask whether a field is there, and would write `null`.
      messages: messages.map(
        (message) =>
          Object.fromEntries(
            Object.entries(message).filter(([, value]) => value != null),
          ) as unknown as ChatMessage,
      ),
      add_generation_prompt: addGenerationPrompt,
    };
  }

  /**
   * Finds the characters of each token; tokens that share a character get the same span. Undefined if the tokens do
   * not decode to the text.
   */
  #locateTokens(ids: readonly number[], text: string): Span[] | undefined {
    const stream = this.decodeStream();
    const places: Span[] = [];
    let joined = "";
    let open = 0;
    ids.forEach((id, at) => {
      const start = joined.length;
      joined += stream.push(id) + (at === ids.length - 1 ? stream.end() : "");
      open++;
      if (joined.length === start && at < ids.length - 1) return;
      for (; open > 0; open--) places.push([start, joined.length]);
    });
    return joined === text ? places : undefined;
  }

  /** @throws MP_INVALID_ARGUMENT if the text up to an answer has other tokens alone than in the whole text */
  #maskByPrefixes(ids: readonly number[], text: string, spans: readonly Span[]): number[] {
    const mask = ids.map(() => 0);
    for (const span of spans) {
      const [start = 0, end = 0] = span.map((length) => {
        const prefix = this.#encode(text.slice(0, length), false);
        if (prefix.every((id, at) => id === ids[at])) return prefix.length;
        throw invalid(
          `encodeChat: a token of ${this.file} lies across the end or the beginning of the answer ${shown(text.slice(...span))}; begin and end answers where words do`,
          { file: this.file },
        );
      });
      mask.fill(1, start, end);
    }
    return mask;
  }
}
