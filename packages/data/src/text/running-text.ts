import { type CorpusSource, finishCorpus, type TextCorpus, TokenTable } from "./text-corpus.js";
import { END_OF_SENTENCE } from "./tokenize.js";

/** Collects running text from several sources into a corpus that is split 90/5/5. */
export class RunningText {
  readonly #table = new TokenTable();
  readonly #end: number = this.#table.intern(END_OF_SENTENCE);
  readonly #tokens: number[] = [];
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

  /**
   * Cuts the text at sentence ends into about 400 blocks; of every twenty in a row the tenth is for validation and the
   * last for testing. So each part covers all of the text's subjects, and its sentences stay in order.
   * @throws MP_INVALID_ARGUMENT if nothing was added
   */
  finish(name: string): TextCorpus {
    const [train, valid, test]: [number[], number[], number[]] = [[], [], []];
    const blockLength = Math.max(1, Math.floor(this.#tokens.length / 400));
    let [block, filled] = [0, 0];
    for (const token of this.#tokens) {
      (block % 20 === 9 ? valid : block % 20 === 19 ? test : train).push(token);
      filled++;
      if (filled >= blockLength && token === this.#end) [block, filled] = [block + 1, 0];
    }
    return finishCorpus(name, this.#table, { train, valid, test }, this.#sources);
  }
}
