import { BLOCK_BYTES } from "./blocks.js";
import { type ReadableFile, readFully } from "./read-fully.js";

/**
 * Reads ranges of a file. Small ranges that lie one after the other are served from one block of at most 1 MiB, so that
 * 200 000 scalars take a few system calls.
 */
export class FileWindow {
  readonly #file: ReadableFile;
  /** Bytes of the file. */
  readonly #size: number;
  readonly #signal: AbortSignal | undefined;
  #block: Uint8Array<ArrayBuffer> = new Uint8Array();
  #begin = 0;

  constructor(file: ReadableFile, size: number, signal: AbortSignal | undefined) {
    this.#file = file;
    this.#size = size;
    this.#signal = signal;
  }

  /**
   * Fills `into` from that position of the file. A range that the block holds is copied at once, without a promise.
   * @throws SAFETENSORS_PARSE when the file ends early
   */
  read(into: Uint8Array<ArrayBuffer>, position: number): Promise<void> | undefined {
    if (this.#copied(into, position)) return undefined;
    if (into.length >= BLOCK_BYTES) return readFully(this.#file, into.buffer, position, this.#signal);
    return this.#fill(into, position);
  }

  async #fill(into: Uint8Array<ArrayBuffer>, position: number): Promise<void> {
    const length = Math.max(into.length, Math.min(BLOCK_BYTES, this.#size - position));
    const block = new Uint8Array(length);
    await readFully(this.#file, block.buffer, position, this.#signal);
    this.#block = block;
    this.#begin = position;
    this.#copied(into, position);
  }

  #copied(into: Uint8Array<ArrayBuffer>, position: number): boolean {
    const start = position - this.#begin;
    if (start < 0 || start + into.length > this.#block.length) return false;
    into.set(this.#block.subarray(start, start + into.length));
    return true;
  }
}
