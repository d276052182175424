/** The tokenizer of a model's folder, by the library of its authors. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { MpError } from "@mp/core";
import { shown } from "@mp/core/internal";
import { path as checkPath } from "../check-arguments.js";
import { loadReader } from "../load-reader.js";
import { asMpError, sizeOfFile } from "../regular-file.js";
import { ChatTemplate, type Jinja } from "./chat-template.js";
import { type LibraryTokenizer, Tokenizer } from "./tokenizer.js";

type Fields = Readonly<Record<string, unknown>>;
type Library = { readonly Tokenizer: new (tokenizer: Fields, config: Fields) => LibraryTokenizer };

/**
 * Reads `tokenizer.json` of a folder and, where they are there, `tokenizer_config.json` and `chat_template.jinja`. It needs
 * `@huggingface/tokenizers`, and `@huggingface/jinja` for a chat template.
 * @throws MP_BACKEND_UNAVAILABLE without them; MP_IO for files that cannot be read; MP_PARSE for what is no tokenizer
 */
export async function loadTokenizer(folder: string): Promise<Tokenizer> {
  checkPath("loadTokenizer: folder", folder);
  const file = join(folder, "tokenizer.json");
  const description = await fieldsOf(file);
  const configFile = join(folder, "tokenizer_config.json");
  const config = (await isThere(configFile)) ? await fieldsOf(configFile) : {};
  const type = modelTypeOf(file, description);
  const { Tokenizer: LibraryClass } = await load<Library>("@huggingface/tokenizers");
  let library: LibraryTokenizer;
  try {
    library = new LibraryClass(description, config);
    // Some of its parts are looked at no earlier.
    library.encode("a 1", { add_special_tokens: true });
  } catch (cause) {
    throw refused(file, `@huggingface/tokenizers cannot use it (${String(cause)})`, cause);
  }
  const source = await templateOf(folder, configFile, config);
  const template =
    source === undefined
      ? undefined
      : new ChatTemplate(await load<Jinja>("@huggingface/jinja"), source.file, source.text);
  return new Tokenizer({
    file,
    library,
    template,
    specialTokens: specialTokensOf(config),
    // transformers ignores the setting for BPE, whose text it would change.
    isCleanedUp: config["clean_up_tokenization_spaces"] === true && type !== "BPE",
  });
}

/** The library takes other types for lists of words. @throws MP_PARSE */
function modelTypeOf(file: string, { model }: Fields): string {
  const { type, merges } = (model ?? {}) as Fields;
  // Old files do not say it.
  const found = type ?? (Array.isArray(merges) ? "BPE" : undefined);
  if (found === "BPE" || found === "WordPiece" || found === "Unigram") return found;
  throw refused(file, `its model must be of type BPE, WordPiece or Unigram, got ${shown(found)}`);
}

const isThere = (path: string): Promise<boolean> =>
  sizeOfFile(path).then(
    () => true,
    (error) => {
      if (MpError.is(error) && error.details["reason"] === "ENOENT") return false;
      throw error;
    },
  );

async function fieldsOf(file: string): Promise<Fields> {
  const text = await textOf(file);
  let fields: unknown;
  try {
    fields = JSON.parse(text);
  } catch (cause) {
    throw refused(file, `it is not JSON (${String(cause)})`, cause);
  }
  if (typeof fields === "object" && fields !== null && !Array.isArray(fields)) return fields as Fields;
  throw refused(file, "it is no object");
}

async function textOf(file: string): Promise<string> {
  await sizeOfFile(file);
  return readFile(file, "utf8").catch((error) => {
    throw asMpError(file, error);
  });
}

const refused = (file: string, problem: string, cause?: unknown): MpError =>
  new MpError("MP_PARSE", `loadTokenizer: ${file}: ${problem}; take the files of the model's folder again`, {
    details: { file },
    cause,
  });

/** The file of its own comes before the field, which may hold several by name. */
async function templateOf(
  folder: string,
  configFile: string,
  config: Fields,
): Promise<{ readonly file: string; readonly text: string } | undefined> {
  const file = join(folder, "chat_template.jinja");
  if (await isThere(file)) return { file, text: await textOf(file) };
  const { chat_template: field } = config;
  const named = Array.isArray(field)
    ? (field as readonly Fields[]).find((entry) => entry?.["name"] === "default")?.["template"]
    : field;
  if (named === undefined || named === null) return undefined;
  if (typeof named === "string") return { file: configFile, text: named };
  throw refused(configFile, "its chat_template is neither a text nor a list of names and templates");
}

/** Fields such as `eos_token`: a text, or an object that holds it. */
function specialTokensOf(config: Fields): Readonly<Record<string, string>> {
  const found = Object.entries(config).flatMap(([name, value]) => {
    const token = typeof value === "object" && value !== null ? (value as Fields)["content"] : value;
    return name.endsWith("_token") && typeof token === "string" ? [[name, token]] : [];
  });
  return Object.fromEntries(found);
}

/** A name in a variable: types of the package are then needed by nobody who loads no tokenizer. */
const load = <T>(name: string): Promise<T> =>
  loadReader(
    "loadTokenizer: a tokenizer",
    "@huggingface/tokenizers @huggingface/jinja",
    () => import(name) as Promise<T>,
  );
