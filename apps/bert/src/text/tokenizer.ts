import { bertNormalizer, bertPreTokenizer, Tokenizer, WordPiece } from "tokenizers";
import { CONTINUES, wordPieces } from "./word-piece-training.js";

/** BERT's special pieces, which have the first indices. */
export const SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] as const;
const specialIndex = (piece: (typeof SPECIAL)[number]): number => SPECIAL.indexOf(piece);
export const [CLS, SEP, MASK] = [specialIndex("[CLS]"), specialIndex("[SEP]"), specialIndex("[MASK]")];

/** Word pieces of a text, by index. */
export interface WordPieces {
  /** The pieces in the order of their indices, the special ones first. */
  readonly pieces: readonly string[];
  /** The indices of the pieces of each of the corpus' words. */
  encode(words: readonly string[]): Promise<readonly (readonly number[])[]>;
}

/**
 * Builds a vocabulary of at most `size` pieces from the words of a text.
 * @param counts how often each word of the corpus occurs
 */
export function trainTokenizer(counts: ReadonlyMap<string, number>, size: number): WordPieces {
  const normalizer = bertNormalizer();
  const preTokenizer = bertPreTokenizer();
  const parts = new Map<string, number>();
  for (const [word, count] of counts)
    for (const [part] of preTokenizer.preTokenizeString(normalizer.normalizeString(word)))
      parts.set(part, (parts.get(part) ?? 0) + count);
  const pieces = [...SPECIAL, ...wordPieces(parts, size - SPECIAL.length)];
  const vocabulary = Object.fromEntries(pieces.map((piece, index) => [piece, index]));
  const options = { unkToken: "[UNK]", continuingSubwordPrefix: CONTINUES };
  const tokenizer = new Tokenizer(WordPiece.init(vocabulary, options));
  tokenizer.setNormalizer(normalizer);
  tokenizer.setPreTokenizer(preTokenizer);
  return {
    pieces,
    encode: async (words) =>
      (await tokenizer.encodeBatch([...words], { addSpecialTokens: false })).map((word) => word.getIds()),
  };
}
