import { Tokenizer } from "@huggingface/tokenizers";
import { CONTINUES, wordPieces } from "./word-piece-training.js";

/** BERT's special pieces, which have the first indices. */
export const SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] as const;
const specialIndex = (piece: (typeof SPECIAL)[number]): number => SPECIAL.indexOf(piece);
export const [CLS, SEP, MASK] = [specialIndex("[CLS]"), specialIndex("[SEP]"), specialIndex("[MASK]")];

/** BERT's uncased tokenizer with those pieces. */
function bertTokenizer(pieces: readonly string[]): Tokenizer {
  const vocab = Object.fromEntries(pieces.map((piece, index) => [piece, index]));
  const description = {
    version: "1.0",
    added_tokens: [],
    normalizer: { type: "BertNormalizer", clean_text: true, handle_chinese_chars: true, lowercase: true },
    pre_tokenizer: { type: "BertPreTokenizer" },
    post_processor: null,
    decoder: { type: "WordPiece", prefix: CONTINUES, cleanup: true },
    model: { type: "WordPiece", unk_token: "[UNK]", continuing_subword_prefix: CONTINUES, vocab },
  };
  return new Tokenizer(description, { unk_token: "[UNK]" });
}

/** Word pieces of a text, by index. */
export interface WordPieces {
  /** The pieces in the order of their indices, the special ones first. */
  readonly pieces: readonly string[];
  /** The indices of the pieces of a word of the corpus. */
  encode(word: string): readonly number[];
}

/**
 * Builds a vocabulary of at most `size` pieces from the words of a text.
 * @param counts how often each word of the corpus occurs
 */
export function trainTokenizer(counts: ReadonlyMap<string, number>, size: number): WordPieces {
  const splitter = bertTokenizer(SPECIAL);
  const parts = new Map<string, number>();
  for (const [word, count] of counts) {
    const normal = splitter.normalizer?.normalize(word) ?? word;
    for (const part of splitter.pre_tokenizer?.pre_tokenize([normal], {}) ?? []) {
      parts.set(part, (parts.get(part) ?? 0) + count);
    }
  }
  const pieces = [...SPECIAL, ...wordPieces(parts, size - SPECIAL.length)];
  const tokenizer = bertTokenizer(pieces);
  return { pieces, encode: (word) => tokenizer.encode(word, { add_special_tokens: false }).ids };
}
