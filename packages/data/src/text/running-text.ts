import {
  type CorpusParts,
  type CorpusSource,
  finishCorpus,
  type TextCorpus,
  TokenList,
  TokenTable,
} from "./text-corpus.js";
import { END_OF_SENTENCE } from "./tokenize.js";

/** Collects running text from several sources into a corpus that is split 90/5/5. */
export class RunningText {
  readonly #table = new TokenTable();
  readonly #end: number = this.#table.intern(END_OF_SENTENCE);
  readonly #tokens = new TokenList();
  readonly #sources: CorpusSource[] = [];
  #words = 0;

  add(words: readonly string[]): void {
    for (const word of words) {
      this.#tokens.push(this.#table.intern(word));
      if (word !== END_OF_SENTENCE) this.#words++;
    }
  }

  /** Names the source of the text added since the last call. */
  endSource(source: Omit<CorpusSource, "words">): void {
    this.#sources.push({ ...source, words: this.#words });
    this.#words = 0;
  }

  /** @throws MP_INVALID_ARGUMENT if nothing was added */
  finish(name: string): TextCorpus {
    return finishCorpus(name, this.#table, splitBlocks(this.#tokens.toArray(), this.#end), this.#sources);
  }
}

/**
 * Splits running text 90/5/5. The text is cut at sentence ends into about 400 blocks; of every twenty in a row the
 * tenth is for validation and the last for testing. So each part covers all of the text's subjects, and its sentences
 * stay in order.
 */
function splitBlocks(tokens: Int32Array, endOfSentence: number): CorpusParts {
  const parts = { train: new TokenList(), valid: new TokenList(), test: new TokenList() };
  const blockLength = Math.max(1, Math.floor(tokens.length / 400));
  let block = 0;
  let filled = 0;
  for (const token of tokens) {
    const part = block % 20 === 9 ? parts.valid : block % 20 === 19 ? parts.test : parts.train;
    part.push(token);
    filled++;
    if (filled >= blockLength && token === endOfSentence) {
      block++;
      filled = 0;
    }
  }
  return { train: parts.train.toArray(), valid: parts.valid.toArray(), test: parts.test.toArray() };
}
