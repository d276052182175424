/** Hugging Face's tokenizers in Rust, from npm's `tokenizers`. */
import { MpError } from "@mp/core";
import { shown } from "@mp/graph/internal";
import type { FieldValues } from "@mp/nn/internal";
import { checkPanics } from "./panics.js";

/** The part of a tokenizer of the library that is used. The package's own types are not valid. */
export interface LibraryTokenizer {
  encode(text: string, pair: null, options: { addSpecialTokens: boolean }): Promise<Encoding>;
  decode(ids: readonly number[], skipSpecialTokens: boolean): Promise<string>;
  idToToken(id: number): string | null;
  tokenToId(token: string): number | null;
}

/** A text as tokens. */
export interface Encoding {
  getIds(): number[];
  /** Start and end of each token in the text, in code points. */
  getOffsets(): [start: number, end: number][];
}

type Library = { readonly Tokenizer: { fromString(description: string): LibraryTokenizer } };

/** A place in the text that the library gets. The place in the file is another. */
const PLACE = / at line \d+ column \d+$/;

/**
 * Opens the tokenizer that a file describes, and counts its vocabulary: one more than the largest id.
 * @throws MP_BACKEND_UNAVAILABLE without the library
 * @throws MP_PARSE for a description that the library refuses or panics at, and for ids without a token
 */
export async function openLibrary(
  file: string,
  description: FieldValues,
): Promise<{ readonly library: LibraryTokenizer; readonly vocabularySize: number }> {
  const { Tokenizer } = await loadLibrary();
  try {
    checkPanics(description);
    const library = Tokenizer.fromString(prepare(description));
    const listed = (description["added_tokens"] ?? []) as readonly { content: string; id: number }[];
    const added = listed.filter(({ content }) => content !== "");
    for (const { content, id } of added) {
      const given = library.tokenToId(content);
      if (given !== id)
        throw new Error(`its token ${shown(content)} must have the id ${given}, which comes next, got ${id}`);
    }
    const around = await library.encode("", null, { addSpecialTokens: true });
    const unknown = around.getIds().find((id) => library.idToToken(id) === null);
    if (unknown !== undefined) throw new Error(`its post_processor must add ids of tokens, got ${unknown}`);
    const { vocab } = description["model"] as { vocab: Readonly<Record<string, number>> };
    const own = Array.isArray(vocab) ? [vocab.length - 1] : Object.values(vocab);
    const ids = [...own, ...added.map(({ id }) => id)];
    return { library, vocabularySize: ids.reduce((most, id) => Math.max(most, id + 1), 0) };
  } catch (cause) {
    throw refusal(file, `it cannot be used (${(cause as Error).message.replace(PLACE, "")})`, cause);
  }
}

/** Imports the library by a variable, so that TypeScript does not need the package's types. */
async function loadLibrary(name = "tokenizers"): Promise<Library> {
  try {
    return await import(name);
  } catch (cause) {
    throw new MpError(
      "MP_BACKEND_UNAVAILABLE",
      `loadTokenizer: the package ${name} cannot be loaded; npm install ${name}@0.23, on a system that it has binaries for`,
      { details: { package: name }, cause },
    );
  }
}

/** Turns off truncation and padding, as in transformers, and keeps leading white space in tokens. */
function prepare(description: FieldValues): string {
  const around = JSON.stringify(description["post_processor"] ?? null);
  const post_processor = JSON.parse(around.replaceAll('"trim_offsets":true', '"trim_offsets":false'));
  return JSON.stringify({ ...description, truncation: null, padding: null, post_processor });
}

/** A file of a tokenizer that is broken. */
export const refusal = (file: string, problem: string, cause?: unknown): MpError =>
  new MpError(
    "MP_PARSE",
    `loadTokenizer: ${file}: ${problem}; correct it, or take the files of the model's folder again`,
    { details: { file }, cause },
  );
