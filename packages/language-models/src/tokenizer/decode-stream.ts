/** The last character of a text whose bytes end within a character. */
const HALF = "\uFFFD";

/**
 * Decodes tokens that come one by one, as in generation. A character of several tokens is returned once it is whole.
 * The pieces and the `end` together equal `decode` of all tokens.
 */
export class DecodeStream {
  readonly #decode: (ids: readonly number[]) => string;
  /** The tokens of the last returned piece, on which the text of the next may depend, and the tokens since. */
  #ids: number[] = [];
  #given = 0;
  #prefix = "";

  constructor(decode: (ids: readonly number[]) => string) {
    this.#decode = decode;
  }

  /** Takes a token. @returns the text that is whole with it, or nothing */
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

  /** Ends the text. @returns the rest, with U+FFFD for characters that are not whole */
  end(): string {
    const rest = this.#decode(this.#ids).slice(this.#prefix.length);
    this.#ids = [];
    this.#given = 0;
    this.#prefix = "";
    return rest;
  }
}
