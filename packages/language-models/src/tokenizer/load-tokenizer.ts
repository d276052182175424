/** Loads the tokenizer in a model's folder, through npm's `tokenizers`. */
import { join } from "node:path";
import { MpError } from "@mp/core";
import { checks, shown } from "@mp/graph/internal";
import { type FieldValues, readJson, readText } from "@mp/nn/internal";
import type { ChatTemplates } from "./chat-template.js";
import { type LibraryTokenizer, openLibrary, refusal } from "./library.js";
import { Tokenizer, type TokenizerParts } from "./tokenizer.js";

/**
 * Reads `tokenizer.json` in a folder and, if they exist, `tokenizer_config.json`, `chat_template.jinja` and
 * `additional_chat_templates`. Needs the package `tokenizers`. A chat template is read by the first chat, which needs `pyodide`.
 * @throws MP_BACKEND_UNAVAILABLE without the package; MP_IO for files that cannot be read; MP_PARSE for an invalid
 *   tokenizer, and for a `bos_token`, `eos_token` or `pad_token` that is not one of its tokens
 */
export async function loadTokenizer(folder: string): Promise<Tokenizer> {
  checks.path("loadTokenizer: folder", folder);
  const file = join(folder, "tokenizer.json");
  const configFile = join(folder, "tokenizer_config.json");
  const description = await readJson("loadTokenizer", file);
  const config = (await ifThere(readJson("loadTokenizer", configFile))) ?? {};
  const opened = await openLibrary(file, description);
  const specials = readSpecials(configFile, config, opened.library);
  return new Tokenizer({
    file,
    ...opened,
    ...specials,
    templates: (await readFiles(folder)) ?? readField(configFile, config),
    // transformers ignores the setting for BPE, whose text it would change.
    isCleanedUp:
      config["clean_up_tokenization_spaces"] === true &&
      !Object.hasOwn(description["model"] as object, "merges"),
  });
}

/** Returns the content of a file; undefined if the file does not exist. */
const ifThere = <T>(read: Promise<T>): Promise<T | undefined> =>
  read.catch((error) => {
    if (MpError.is(error) && error.details["errno"] === "ENOENT") return undefined;
    throw error;
  });

/** Files of chat templates, as transformers has written them since 4.43. They take precedence over the configuration. */
const FILES = { default: "chat_template.jinja", tool_use: "additional_chat_templates/tool_use.jinja" };

async function readFiles(folder: string): Promise<ChatTemplates | undefined> {
  const found: Record<string, { file: string; source: string }> = {};
  for (const [name, path] of Object.entries(FILES)) {
    const file = join(folder, path);
    const source = await ifThere(readText("loadTokenizer", file));
    if (source !== undefined) found[name] = { file, source };
  }
  return Object.keys(found).length > 0 ? found : undefined;
}

/** Reads the chat template in the configuration, which may have several by name. */
function readField(file: string, { chat_template: field = null }: FieldValues): ChatTemplates {
  const alone = field === null ? [] : [{ name: "default", template: field }];
  const listed: readonly Partial<FieldValues>[] = Array.isArray(field) ? field : alone;
  return Object.fromEntries(
    listed.map((entry) => {
      const source = entry?.["template"];
      if (typeof source === "string") return [entry["name"], { file, source }];
      throw refusal(file, "its chat_template is neither a text nor a list of names and templates");
    }),
  );
}

/** Special tokens that must be in the vocabulary. `unk_token` may be missing, if all bytes are tokens. */
const NEEDED = ["bos_token", "eos_token", "pad_token"];

/**
 * Reads fields such as `eos_token`, a text or an object with a text, and finds the ids of special tokens.
 * @throws MP_PARSE for a text that is not a token: transformers would add it, but the model has no embedding for it
 */
function readSpecials(
  file: string,
  config: FieldValues,
  library: LibraryTokenizer,
): Pick<TokenizerParts, "special" | "specialTokens"> {
  const { additional_special_tokens: additional } = config;
  if (additional != null && !Array.isArray(additional))
    throw refusal(file, `its additional_special_tokens must be a list, got ${shown(additional)}`);
  const special: Record<string, number> = {};
  const specialTokens: Record<string, string> = {};
  for (const [name, value] of Object.entries(config)) {
    const token = typeof value === "object" && value !== null ? (value as FieldValues)["content"] : value;
    const id = typeof token === "string" ? (library.tokenToId(token) ?? undefined) : undefined;
    const isNeeded = NEEDED.includes(name);
    if (isNeeded && value !== null && id === undefined)
      throw refusal(file, `its ${name} must be a token of tokenizer.json or null, got ${shown(token)}`);
    if (name.endsWith("_token") && typeof token === "string") specialTokens[name] = token;
    if ((isNeeded || name === "unk_token") && id !== undefined) special[name.replace("_token", "")] = id;
  }
  return { special, specialTokens };
}
