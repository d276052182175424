/**
 * Tokenizes running English text into words, in the manner of the Penn Treebank language-model files: lower case,
 * numbers as `N`, clitics apart (`do n't`, `model 's`), punctuation as words of its own, and `<eos>` at the end of a
 * sentence. It follows the convention of language models, not of linguists.
 */
import { text as checkText } from "../check-arguments.js";

/** Ends a sentence (a line, in Penn Treebank files). */
export const END_OF_SENTENCE = "<eos>";
/** Stands for every word outside the vocabulary. */
export const UNKNOWN_WORD = "<unk>";

/** Letters of the longest word. Longer tokens, such as hashes, encoded data and ASCII art, become `<unk>`. */
const LONGEST_WORD = 40;

const TOKEN = new RegExp(
  [
    "<[a-z]+>", // markers, ours or already in the file
    String.raw`(?:\p{L}\.){2,}`, // e.g., U.S.
    // At most 20 more parts, because a long list of numbers before a letter would be scanned again from each number.
    String.raw`\d+(?:[.,:]\d+){0,20}(?![.,:]?[\p{L}\p{N}_])`,
    String.raw`[\p{L}\p{N}_][\p{L}\p{M}\p{N}_]*(?:[-'.@][\p{L}\p{N}_][\p{L}\p{M}\p{N}_]*)*`,
    String.raw`\.{2,}`,
    String.raw`\S`,
  ].join("|"),
  "gu",
);
const NUMBER = /^\d+(?:[.,:]\d+)*$/;
const CLITIC = /^(.+?)(n't|'(?:s|re|ve|ll|d|m))$/;
const CLOSING = new Set(['"', "'", ")", "]", "}"]);
const SAME_AS: ReadonlyMap<string, string> = new Map([
  ["…", "..."],
  ["–", "-"],
  ["—", "-"],
]);

/**
 * Tokenizes a text that comes in pieces, split at any white space; the words are those of the whole text. A sentence
 * ends after `.`, `?` or `!` (and closing quotes or brackets) if white space and no lower-case letter follow, and when
 * `end` is called.
 */
export class Tokenizer {
  #sentenceMayEnd = false;
  #inSentence = false;

  push(text: string): string[] {
    const plain = text.replace(/[‘’]/g, "'").replace(/[“”]/g, '"');
    const words: string[] = [];
    let end = 0;
    for (const match of plain.matchAll(TOKEN)) {
      const token = match[0];
      const spaced = match.index > end;
      end = match.index + token.length;
      if (this.#sentenceMayEnd && spaced && !/^\p{Ll}/u.test(token)) words.push(...this.end());
      if (token === "." || token === "?" || token === "!") this.#sentenceMayEnd = true;
      else if (spaced || !CLOSING.has(token)) this.#sentenceMayEnd = false;
      pushWords(token, words);
      this.#inSentence = true;
    }
    return words;
  }

  /** Ends the current sentence, if there is one. */
  end(): string[] {
    const words = this.#inSentence ? [END_OF_SENTENCE] : [];
    this.#inSentence = false;
    this.#sentenceMayEnd = false;
    return words;
  }
}

/** The words of a whole paragraph. Text without words gives nothing, not even `<eos>`. */
export function tokenize(text: string): string[] {
  checkText("tokenize: text", text);
  const tokenizer = new Tokenizer();
  return [...tokenizer.push(text), ...tokenizer.end()];
}

function pushWords(token: string, words: string[]): void {
  if (NUMBER.test(token)) words.push("N");
  else if (token.length > LONGEST_WORD) words.push(UNKNOWN_WORD);
  else {
    const lower = token.toLowerCase();
    const clitic = CLITIC.exec(lower);
    if (clitic) words.push(clitic[1] ?? "", clitic[2] ?? "");
    else words.push(SAME_AS.get(lower) ?? lower);
  }
}
