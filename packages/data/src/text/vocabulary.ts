import { claim } from "../check-arguments.js";
import { invalid } from "../errors.js";
import type { CorpusParts, TextCorpus } from "./text-corpus.js";
import { END_OF_SENTENCE, UNKNOWN_WORD } from "./tokenize.js";

/** The words that a model knows: 0 is `<unk>`, 1 is `<eos>`, and the other words follow from the most frequent down. */
export interface Vocabulary {
  readonly size: number;
  readonly words: readonly string[];
  readonly unknown: number;
  readonly endOfSentence: number;
  /** The word's index; that of `<unk>` for a word outside the vocabulary. */
  indexOf(word: string): number;
}

const UNKNOWN = 0;
const END = 1;
const SMALLEST = 3;

const has = (value: unknown, key: PropertyKey): boolean =>
  typeof value === "object" && value !== null && key in value;
const checkCorpus = claim("what readText gives", (value) => has(value, "train") && has(value, "words"));
const checkVocabulary = claim("what buildVocabulary gives", (value) => has(value, "indexOf"));

/**
 * Takes the `size` most frequent words of the corpus's training part; words of equal frequency are in code-unit
 * order. The result is smaller if the text has fewer distinct words, so read `size` from it.
 * @throws MP_INVALID_ARGUMENT for a size below 3, or a value that is not a corpus
 */
export function buildVocabulary(corpus: TextCorpus, size: number): Vocabulary {
  checkCorpus("buildVocabulary: corpus", corpus);
  if (!Number.isSafeInteger(size) || size < SMALLEST) {
    throw invalid(
      `buildVocabulary: size ${String(size)} is too small, ${UNKNOWN_WORD}, ${END_OF_SENTENCE} and one word take ${SMALLEST}`,
      { size },
    );
  }
  const counts = new Float64Array(corpus.words.length);
  for (const token of corpus.train) counts[token] = (counts[token] ?? 0) + 1;
  const ranked = corpus.words
    .map((word, token) => ({ word, count: counts[token] ?? 0 }))
    .filter(({ word, count }) => count > 0 && word !== UNKNOWN_WORD && word !== END_OF_SENTENCE)
    .sort((a, b) => b.count - a.count || (a.word < b.word ? -1 : 1))
    .slice(0, size - 2)
    .map(({ word }) => word);
  const words = Object.freeze([UNKNOWN_WORD, END_OF_SENTENCE, ...ranked]);
  const index = new Map(words.map((word, position) => [word, position]));
  return {
    size: words.length,
    words,
    unknown: UNKNOWN,
    endOfSentence: END,
    indexOf: (word) => index.get(word) ?? UNKNOWN,
  };
}

/** Converts a corpus to a vocabulary's indices, for `languageModelBatches`. @throws MP_INVALID_ARGUMENT */
export function encodeCorpus(corpus: TextCorpus, vocabulary: Vocabulary): CorpusParts {
  checkCorpus("encodeCorpus: corpus", corpus);
  checkVocabulary("encodeCorpus: vocabulary", vocabulary);
  const indices = Int32Array.from(corpus.words, (word) => vocabulary.indexOf(word));
  const encode = (part: Int32Array): Int32Array => part.map((token) => indices[token] ?? UNKNOWN);
  return { train: encode(corpus.train), valid: encode(corpus.valid), test: encode(corpus.test) };
}
