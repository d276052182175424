import { BLOCK_BYTES } from "./blocks.js";
import { type ReadableFile, readFully } from "./read-fully.js";

/** Reads ranges of a file. Small neighbors share one read of at most 1 MiB: a few reads serve 200 000 scalars. */
export class FileWindow {
  readonly #file: ReadableFile;
  /** Size of the file in bytes. */
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
   * Fills `into` from a position of the file. Returns no promise if the range was in the last block.
   * @throws SAFETENSORS_PARSE when the file ends early
   */
  read(into: Uint8Array<ArrayBuffer>, position: number): Promise<void> | undefined {
    if (this.#copy(into, position)) return undefined;
    if (into.length >= BLOCK_BYTES) return readFully(this.#file, into.buffer, position, this.#signal);
    return this.#fill(into, position);
  }

  async #fill(into: Uint8Array<ArrayBuffer>, position: number): Promise<void> {
    const length = Math.max(into.length, Math.min(BLOCK_BYTES, this.#size - position));
    const block = new Uint8Array(length);
    await readFully(this.#file, block.buffer, position, this.#signal);
    this.#block = block;
    this.#begin = position;
    this.#copy(into, position);
  }

  #copy(into: Uint8Array<ArrayBuffer>, position: number): boolean {
    const start = position - this.#begin;
    if (start < 0 || start + into.length > this.#block.length) return false;
    into.set(this.#block.subarray(start, start + into.length));
    return true;
  }
}
