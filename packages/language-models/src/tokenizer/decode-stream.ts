/** The last character of a text whose bytes break off within a character. */
const HALF = "\uFFFD";

/**
 * Decodes tokens that come one by one, as in generation. A character of several tokens is returned once it is
 * complete. The pieces and the `end` together equal `decode` of all tokens.
 */
export class DecodeStream {
  readonly #decode: (ids: readonly number[]) => string;
  /** The tokens of the last returned piece, on which the next piece may depend, and all tokens since. */
  #ids: number[] = [];
  #given = 0;
  #prefix = "";

  constructor(decode: (ids: readonly number[]) => string) {
    this.#decode = decode;
  }

  /** Takes a token. @returns the text that it completes, or an empty string */
  push(id: number): string {
    const text = this.#decode([...this.#ids, id]);
    this.#ids.push(id);
    if (text.length <= this.#prefix.length || text.endsWith(HALF)) return "";
    const piece = text.slice(this.#prefix.length);
    this.#ids = this.#ids.slice(this.#given);
    this.#given = this.#ids.length;
    this.#prefix = this.#decode(this.#ids);
    return piece;
  }

  /** Ends the text. @returns the rest, with U+FFFD for incomplete characters */
  end(): string {
    const rest = this.#decode(this.#ids).slice(this.#prefix.length);
    this.#ids = [];
    this.#given = 0;
    this.#prefix = "";
    return rest;
  }
}
