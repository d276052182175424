import { WorkQueue } from "@mp/graph/internal";

/** The character in which a decoded text ends while its last character is incomplete. */
const HALF = "\uFFFD";

/**
 * Decodes tokens that arrive one by one, as in generation. A character of several tokens is returned once it
 * is complete. All returned pieces together, including the piece of `end`, equal `decode` of all tokens.
 * Calls run in order, so callers need not await one before the next.
 */
export class DecodeStream {
  readonly #decode: (ids: readonly number[]) => Promise<string>;
  readonly #turns = new WorkQueue();
  /** The tokens of the last returned piece, on which the next piece may depend, and all tokens after them. */
  #ids: number[] = [];
  #given = 0;
  #prefix = "";

  constructor(decode: (ids: readonly number[]) => Promise<string>) {
    this.#decode = decode;
  }

  /** Takes a token. @returns the text that is now complete, perhaps empty */
  push(id: number): Promise<string> {
    return this.#turns.push(async () => {
      const text = await this.#decode([...this.#ids, id]);
      this.#ids.push(id);
      if (text.length <= this.#prefix.length || text.endsWith(HALF)) return "";
      const piece = text.slice(this.#prefix.length);
      this.#ids = this.#ids.slice(this.#given);
      this.#given = this.#ids.length;
      this.#prefix = await this.#decode(this.#ids);
      return piece;
    });
  }

  /** Ends the text. @returns the rest of it, with U+FFFD for incomplete characters */
  end(): Promise<string> {
    return this.#turns.push(async () => {
      const rest = (await this.#decode(this.#ids)).slice(this.#prefix.length);
      this.#ids = [];
      this.#given = 0;
      this.#prefix = "";
      return rest;
    });
  }
}
