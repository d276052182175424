/** Holds tokens back as long as they may be the beginning of a stop sequence. */
export class StopSequences {
  readonly #sequences: readonly (readonly number[])[];
  #held: number[] = [];

  constructor(sequences: readonly (readonly number[])[]) {
    this.#sequences = sequences;
  }

  /** Takes a token. @returns tokens that can no longer be part of a stop, and whether a stop is complete */
  take(token: number): { readonly free: readonly number[]; readonly isStop: boolean } {
    const seen = [...this.#held, token];
    const whole = this.#sequences.find((sequence) => endsWith(seen, sequence, sequence.length));
    if (whole !== undefined) {
      this.#held = [];
      return { free: seen.slice(0, seen.length - whole.length), isStop: true };
    }
    const begun = Math.max(0, ...this.#sequences.map((sequence) => overlap(seen, sequence)));
    this.#held = seen.slice(seen.length - begun);
    return { free: seen.slice(0, seen.length - begun), isStop: false };
  }

  /** The tokens that are still held back, to return when the text ends. */
  rest(): readonly number[] {
    return this.#held;
  }
}

/** The length of the longest proper prefix of `sequence` that is a suffix of `tokens`. */
function overlap(tokens: readonly number[], sequence: readonly number[]): number {
  let count = Math.min(tokens.length, sequence.length - 1);
  while (count > 0 && !endsWith(tokens, sequence, count)) count--;
  return count;
}

const endsWith = (tokens: readonly number[], sequence: readonly number[], count: number): boolean =>
  tokens.length >= count &&
  sequence.slice(0, count).every((token, at) => tokens[tokens.length - count + at] === token);
