/** Loads the tokenizer of a model's folder, by Hugging Face's library. */
import { join } from "node:path";
import { MpError } from "@mp/core";
import { checks, shown } from "@mp/graph/internal";
import { readJson, readText } from "@mp/nn/internal";
import { ChatTemplate, type Jinja } from "./chat-template.js";
import { type LibraryTokenizer, Tokenizer, type TokenizerParts } from "./tokenizer.js";
import { readVocabulary } from "./vocabulary.js";

type Fields = Readonly<Record<string, unknown>>;
type Library = { readonly Tokenizer: new (tokenizer: Fields, config: Fields) => LibraryTokenizer };

/**
 * Reads `tokenizer.json` in a folder and, if they exist, `tokenizer_config.json` and `chat_template.jinja`. It needs
 * `@huggingface/tokenizers`, and `@huggingface/jinja` for a chat template.
 * @throws MP_BACKEND_UNAVAILABLE without these packages; MP_IO for files that cannot be read; MP_PARSE for an invalid
 *   tokenizer, and for a `bos_token`, `eos_token` or `pad_token` that is not one of its tokens
 */
export async function loadTokenizer(folder: string): Promise<Tokenizer> {
  checks.path("loadTokenizer: folder", folder);
  const file = join(folder, "tokenizer.json");
  const description = await readJson("loadTokenizer", file);
  const configFile = join(folder, "tokenizer_config.json");
  const config = (await ifThere(readJson("loadTokenizer", configFile))) ?? {};
  const { Tokenizer: LibraryClass } = await load<Library>("@huggingface/tokenizers");
  const model = checkModel(file, description);
  const ids = tryUse(file, () => readVocabulary(model, description["added_tokens"]));
  const specials = readSpecials(configFile, config, ids);
  const library = tryUse(file, () => new LibraryClass({ ...description, model }, config));
  // Some of its parts are looked at no earlier than when they are used.
  const guarded: LibraryTokenizer = {
    encode: (...given) => tryUse(file, () => library.encode(...given)),
    decode: (...given) => tryUse(file, () => library.decode(...given)),
    id_to_token: (id) => library.id_to_token(id),
  };
  guarded.encode("a 1", { add_special_tokens: true });
  const source = await findTemplate(folder, configFile, config);
  const template =
    source === undefined
      ? undefined
      : new ChatTemplate(await load<Jinja>("@huggingface/jinja"), source.file, source.text);
  return new Tokenizer({
    file,
    library: guarded,
    vocabularySize: [...ids.values()].reduce((most, id) => Math.max(most, id + 1), 0),
    template,
    ...specials,
    // transformers ignores the setting for BPE, whose text it would change.
    isCleanedUp: config["clean_up_tokenization_spaces"] === true && model["type"] !== "BPE",
  });
}

function tryUse<T>(file: string, use: () => T): T {
  try {
    return use();
  } catch (cause) {
    const problem = cause instanceof Error ? cause.message : String(cause);
    throw refusal(file, `it cannot be used (${problem})`, cause);
  }
}

/** Checks the type of the model: the library would treat unknown types as lists of words. @throws MP_PARSE */
function checkModel(file: string, { model }: Fields): Fields {
  const { type, merges } = (model ?? {}) as Fields;
  // Old files do not say it.
  const found = type ?? (Array.isArray(merges) ? "BPE" : undefined);
  if (found === "BPE" || found === "WordPiece" || found === "Unigram")
    return { ...(model as Fields), type: found };
  throw refusal(file, `its model must be of type BPE, WordPiece or Unigram, got ${shown(found)}`);
}

/** The content of a file; undefined if the file does not exist. */
const ifThere = <T>(read: Promise<T>): Promise<T | undefined> =>
  read.catch((error) => {
    if (MpError.is(error) && error.details["errno"] === "ENOENT") return undefined;
    throw error;
  });

const refusal = (file: string, problem: string, cause?: unknown): MpError =>
  new MpError(
    "MP_PARSE",
    `loadTokenizer: ${file}: ${problem}; correct it, or take the files of the model's folder again`,
    {
      details: { file },
      cause,
    },
  );

/** Finds the chat template: a file of its own, or else a field, which may hold several by name. */
async function findTemplate(
  folder: string,
  configFile: string,
  config: Fields,
): Promise<{ readonly file: string; readonly text: string } | undefined> {
  const file = join(folder, "chat_template.jinja");
  const text = await ifThere(readText("loadTokenizer", file));
  if (text !== undefined) return { file, text };
  const { chat_template: field } = config;
  const named = Array.isArray(field)
    ? (field as readonly Fields[]).find((entry) => entry?.["name"] === "default")?.["template"]
    : field;
  if (named === undefined || named === null) return undefined;
  if (typeof named === "string") return { file: configFile, text: named };
  throw refusal(configFile, "its chat_template is neither a text nor a list of names and templates");
}

/** Special tokens that must exist as tokens. An `unk_token` need not, if all bytes are tokens. */
const NEEDED = ["bos_token", "eos_token", "pad_token"];

/**
 * Reads fields such as `eos_token`, a text or an object with it, and the ids of `NEEDED` ones.
 * @throws MP_PARSE for a field that is not a token: transformers would add it, and the model has no row for it
 */
function readSpecials(
  file: string,
  config: Fields,
  ids: ReadonlyMap<unknown, number>,
): Pick<TokenizerParts, "special" | "specialTokens"> {
  const { additional_special_tokens: additional } = config;
  if (additional != null && !Array.isArray(additional))
    throw refusal(file, `its additional_special_tokens must be a list, got ${shown(additional)}`);
  const special: Record<string, number> = {};
  const specialTokens: Record<string, string> = {};
  for (const [name, value] of Object.entries(config)) {
    const token = typeof value === "object" && value !== null ? (value as Fields)["content"] : value;
    const id = ids.get(token);
    const isNeeded = NEEDED.includes(name);
    if (isNeeded && value !== null && id === undefined)
      throw refusal(file, `its ${name} must be a token of tokenizer.json or null, got ${shown(token)}`);
    if (name.endsWith("_token") && typeof token === "string") specialTokens[name] = token;
    if ((isNeeded || name === "unk_token") && id !== undefined) special[name.replace("_token", "")] = id;
  }
  return { special, specialTokens };
}

/** Imports a package by a variable name, so that only those who load tokenizers need its types. */
async function load<T>(name: string): Promise<T> {
  try {
    return (await import(name)) as T;
  } catch (cause) {
    const packages = ["@huggingface/tokenizers", "@huggingface/jinja"];
    throw new MpError(
      "MP_BACKEND_UNAVAILABLE",
      `loadTokenizer: a tokenizer is read by ${packages.join(" and ")}, which cannot be loaded; npm install ${packages.join(" ")}`,
      { details: { packages }, cause },
    );
  }
}
