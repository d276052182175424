import type { HostTensor } from "@mp/core";
import { outputFrames } from "./model.js";

/**
 * Decodes the most likely class at each time to labels: repeats count once, blanks (0) are left out.
 * @param best [time, batch], the most likely classes
 * @param frames of the features of each utterance, before padding
 */
export function decode(best: HostTensor, frames: ArrayLike<number>): readonly (readonly number[])[] {
  const [time = 0, batch = 0] = best.shape;
  return Array.from({ length: batch }, (_, row) => {
    const own = Math.min(time, outputFrames(frames[row] as number));
    const path = Array.from({ length: own }, (__, at) => Number(best.data[at * batch + row]));
    return path.filter((label, at) => label !== 0 && label !== path[at - 1]);
  });
}

/** Edits (insertions, deletions, substitutions) per letter of the truth, over all utterances. */
export class ErrorRate {
  #edits = 0;
  #letters = 0;

  add(written: readonly number[], truth: readonly number[]): void {
    this.#edits += distance(written, truth);
    this.#letters += truth.length;
  }

  get value(): number {
    return this.#edits / this.#letters;
  }
}

/** Levenshtein's distance, computed row by row. */
function distance(a: readonly number[], b: readonly number[]): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  a.forEach((letter, index) => {
    const next = [index + 1];
    b.forEach((other, at) => {
      const replaced = (row[at] as number) + (letter === other ? 0 : 1);
      next.push(Math.min(replaced, (row[at + 1] as number) + 1, (next[at] as number) + 1));
    });
    row = next;
  });
  return row[b.length] as number;
}
