import { checks, readOptions, shown } from "@mp/graph/internal";
import { invalid } from "@mp/nn/internal";
import { type ChatMessage, type ChatTemplates, type RenderedChat, renderChat } from "./chat-template.js";
import { DecodeStream } from "./decode-stream.js";
import { type Encoding, type LibraryTokenizer, refusal } from "./library.js";

export interface EncodeOptions {
  /** Whether to add the tokens that the tokenizer puts around a text, such as a first one. Default true. */
  readonly addSpecialTokens?: boolean;
}

export interface DecodeOptions {
  /** Whether to leave out special tokens, such as the end-of-text token. Default false. */
  readonly skipSpecialTokens?: boolean;
}

export interface ChatOptions {
  /** Whether to end with the beginning of an answer, for the model to continue. Default false. */
  readonly addGenerationPrompt?: boolean;
  /** Further variables of the template, such as `tools` or `enable_thinking`. */
  readonly variables?: Readonly<Record<string, unknown>>;
}

/** A chat as tokens: an example for `causalBatches` of `@mp/data/rows`. */
export interface EncodedChat {
  readonly ids: number[];
  /** 1 for each token of an answer, else 0. */
  readonly mask: number[];
}

/** Ids of the special tokens that `tokenizer_config.json` names. */
export type SpecialIds = Readonly<Partial<Record<"bos" | "eos" | "pad" | "unk", number>>>;

/** Contents of the files in a tokenizer's folder. */
export interface TokenizerParts {
  readonly file: string;
  readonly library: LibraryTokenizer;
  readonly vocabularySize: number;
  readonly templates: ChatTemplates;
  /** Texts of `bos_token` and other special tokens, by their names in templates. */
  readonly specialTokens: Readonly<Record<string, string>>;
  readonly special: SpecialIds;
  readonly isCleanedUp: boolean;
}

const ENCODE = { addSpecialTokens: checks.optional(checks.truth) };
const DECODE = { skipSpecialTokens: checks.optional(checks.truth) };
const CHAT = {
  addGenerationPrompt: checks.optional(checks.truth),
  variables: checks.optional(checks.object),
};
const isId = (id: unknown): boolean =>
  Number.isInteger(id) && (id as number) >= 0 && (id as number) < 2 ** 32;
const idCheck = checks.claim(
  "a list of integers from 0 to 2^32 - 1",
  (value) =>
    (Array.isArray(value) || ArrayBuffer.isView(value)) &&
    Array.from(value as ArrayLike<unknown>).every(isId),
);
const textCheck = checks.claim(
  "a text without halves of surrogate pairs",
  (value) => typeof value === "string" && !/\p{Surrogate}/u.test(value),
);
const messagesCheck = checks.listOf(
  "messages, each with a role",
  (message) => typeof (message as ChatMessage | undefined)?.role === "string",
);

/** Converts text to token ids and back, in the same way as in the training of its model. */
export class Tokenizer {
  /** Path of the `tokenizer.json` that was read. */
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

  /** Converts text to ids. @throws MP_INVALID_ARGUMENT for a text with a part that the vocabulary lacks */
  async encode(text: string, options: EncodeOptions = {}): Promise<number[]> {
    textCheck("encode: text", text);
    const { addSpecialTokens = true } = readOptions("encode", options, ENCODE);
    return (await this.#encode(text, addSpecialTokens)).getIds();
  }

  /** Decodes ids to text. Ids without a token, as in rounded-up vocabularies, are left out. */
  async decode(ids: ArrayLike<number>, options: DecodeOptions = {}): Promise<string> {
    idCheck("decode: ids", ids);
    const { skipSpecialTokens = false } = readOptions("decode", options, DECODE);
    const text = await this.#decode(Array.from(ids), skipSpecialTokens);
    return this.#parts.isCleanedUp ? cleanUp(text) : text;
  }

  /** Decodes tokens one by one. Spaces are not cleaned up, because returned pieces cannot change. */
  decodeStream(options: DecodeOptions = {}): DecodeStream {
    const { skipSpecialTokens = false } = readOptions("decodeStream", options, DECODE);
    return new DecodeStream(async (ids) => {
      idCheck("push: id", ids.slice(-1));
      return this.#decode(ids, skipSpecialTokens);
    });
  }

  /** Renders a chat as text. @throws MP_INVALID_ARGUMENT without a template, or for messages it refuses */
  async applyChatTemplate(messages: readonly ChatMessage[], options: ChatOptions = {}): Promise<string> {
    return (await this.#render("applyChatTemplate", messages, options)).text;
  }

  /**
   * Encodes a chat and marks the tokens that have at least one character of an answer.
   * @throws MP_INVALID_ARGUMENT as `applyChatTemplate`, and if the answers cannot be found
   */
  async encodeChat(messages: readonly ChatMessage[], options: ChatOptions = {}): Promise<EncodedChat> {
    const { text, spans } = await this.#render("encodeChat", messages, options);
    textCheck("encodeChat: the text of the chat", text);
    const encoding = await this.#encode(text, false);
    const mask = encoding
      .getOffsets()
      .map(([start, end]) => Number(spans.some(([from, to]) => start < to && end > from)));
    return { ids: encoding.getIds(), mask };
  }

  async #encode(text: string, addSpecialTokens: boolean): Promise<Encoding> {
    try {
      return await this.#parts.library.encode(text, null, { addSpecialTokens });
    } catch (cause) {
      throw invalid(
        `encode: ${this.file} has no token for a part of ${shown(text)}, and none for unknown parts; remove what the model's vocabulary lacks`,
        { file: this.file },
        cause,
      );
    }
  }

  #decode(ids: readonly number[], skipSpecialTokens: boolean): Promise<string> {
    return this.#parts.library.decode(ids, skipSpecialTokens).catch((cause) => {
      throw refusal(this.file, "its decoder fails", cause);
    });
  }

  async #render(
    what: "applyChatTemplate" | "encodeChat",
    messages: readonly ChatMessage[],
    options: ChatOptions,
  ): Promise<RenderedChat> {
    messagesCheck(`${what}: messages`, messages);
    const { addGenerationPrompt = false, variables = {} } = readOptions(what, options, CHAT);
    const { file, templates, specialTokens } = this.#parts;
    const template = (variables["tools"] == null ? undefined : templates.tool_use) ?? templates.default;
    if (template === undefined)
      throw invalid(
        `${file}: there is no chat template beside it; put one into chat_template.jinja in that folder, as models for chats have it`,
        { file },
      );
    const given = { tools: null, documents: null, ...specialTokens, ...variables, messages };
    const all = { ...given, add_generation_prompt: addGenerationPrompt };
    return await renderChat(template, all, what === "encodeChat");
  }
}

/** English contractions and marks, from which transformers takes the space before. */
const SPACED = /* @__PURE__ */ [" .", " ?", " !", " ,", " ' ", " n't", " 'm", " 's", " 've", " 're"];
const cleanUp = (text: string): string =>
  SPACED.reduce((cleaned, spaced) => cleaned.replaceAll(spaced, spaced.trim()), text);
