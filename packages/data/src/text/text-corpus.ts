import { createHash } from "node:crypto";
import { invalid } from "../errors.js";
import { END_OF_SENTENCE } from "./tokenize.js";

/** The three parts of a corpus, each in reading order. */
export interface CorpusParts {
  readonly train: Int32Array;
  readonly valid: Int32Array;
  readonly test: Int32Array;
}

/** A source of a corpus's words. */
export interface CorpusSource {
  /** A package's name, or a path relative to the directory that was read. */
  readonly name: string;
  /** Version of the package. */
  readonly version?: string;
  /** Number of words and punctuation marks, without `<eos>`. */
  readonly words: number;
}

/** Tokenized text. Every token is an index into `words`, which lists the distinct words in order of appearance. */
export interface TextCorpus extends CorpusParts {
  readonly words: readonly string[];
  readonly sources: readonly CorpusSource[];
  /** Number of tokens in all three parts. */
  readonly tokens: number;
  /** SHA-256 (hex) of the words of all three parts: equal exactly if a model sees the same text. */
  readonly sha256: string;
}

/** Maps words to integer tokens; all parts share one table. */
export class TokenTable {
  readonly words: string[] = [];
  readonly #index = new Map<string, number>();

  intern(word: string): number {
    const known = this.#index.get(word);
    if (known !== undefined) return known;
    const index = this.words.push(word) - 1;
    this.#index.set(word, index);
    return index;
  }
}

/**
 * Assembles a corpus and hashes it.
 * @throws MP_INVALID_ARGUMENT if the training part has no word
 */
export function finishCorpus(
  name: string,
  table: TokenTable,
  { train, valid, test }: Readonly<Record<keyof CorpusParts, ArrayLike<number>>>,
  sources: readonly CorpusSource[],
): TextCorpus {
  if (train.length === 0) throw invalid(`${name}: holds no word to train on`, { name });
  const parts = {
    train: Int32Array.from(train),
    valid: Int32Array.from(valid),
    test: Int32Array.from(test),
  };
  const { words } = table;
  const tokens = train.length + valid.length + test.length;
  return { ...parts, words, sources, tokens, sha256: hashParts(words, Object.values(parts)) };
}

function hashParts(words: readonly string[], parts: readonly Int32Array[]): string {
  const hash = createHash("sha256");
  for (const part of parts) {
    let sentence: string[] = [];
    for (const token of part) {
      const word = words[token] ?? "";
      sentence.push(word);
      if (word === END_OF_SENTENCE) {
        hash.update(`${sentence.join(" ")}\n`);
        sentence = [];
      }
    }
    hash.update(`${sentence.join(" ")}\f`);
  }
  return hash.digest("hex");
}
