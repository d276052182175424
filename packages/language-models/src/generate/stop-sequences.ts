/** Holds tokens back while they may begin a sequence that ends the text. */
export class StopSequences {
  readonly #sequences: readonly (readonly number[])[];
  #held: number[] = [];

  constructor(sequences: readonly (readonly number[])[]) {
    this.#sequences = sequences;
  }

  /** Takes the next token. Gives the tokens that cannot be part of a stop any more, and whether a stop is complete. */
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

  /** The tokens held back, when no more follow. */
  rest(): readonly number[] {
    return this.#held;
  }
}

/** The length of the longest proper prefix of a sequence that the tokens end with. */
function overlap(tokens: readonly number[], sequence: readonly number[]): number {
  let count = Math.min(tokens.length, sequence.length - 1);
  while (count > 0 && !endsWith(tokens, sequence, count)) count--;
  return count;
}

const endsWith = (tokens: readonly number[], sequence: readonly number[], count: number): boolean =>
  tokens.length >= count &&
  sequence.slice(0, count).every((token, at) => tokens[tokens.length - count + at] === token);
