/**
 * Reads binary files whose header gives their length, as untrusted data: nothing is allocated before the header's
 * sizes are compared with the file's own size.
 */

import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import type { MpError } from "@mp/core";
import { MOST_BYTES } from "./data-size.js";
import { fileError } from "./errors.js";
import { asMpError, sizeOfFile } from "./regular-file.js";

/** Deflate's highest ratio, 258 bytes for 2 bits, rounded up; a file that declares more is invalid. */
const GREATEST_RATIO = 1032;

/** What the first bytes of a file tell: the total length, or how many bytes are needed to know it. */
export type Measured = { readonly totalBytes: number } | { readonly neededBytes: number };

/**
 * Reads the bytes of a file, and unpacks it if its first two bytes are those of gzip.
 * @param measure gets the file's first bytes, initially none, until it knows the length
 * @throws MP_IO for a file that cannot be read, MP_PARSE for one that is shorter or longer than its header says, and
 *   for an invalid gzip file
 */
export async function readBytes(
  path: string,
  measure: (head: Uint8Array, fileBytes: number) => Measured,
): Promise<Uint8Array> {
  let refusal: unknown;
  try {
    const { fileBytes, isGzip } = await inspect(path);
    const mostBytes = isGzip ? Math.min(MOST_BYTES, GREATEST_RATIO * fileBytes) : fileBytes;
    const sink = new Sink(path, (head) => measure(head, fileBytes), mostBytes);
    const collect = async (chunks: AsyncIterable<Buffer>): Promise<void> => {
      try {
        for await (const chunk of chunks) sink.take(chunk);
      } catch (error) {
        // The pipeline may tell of the stream that it then cut off, rather than of this.
        refusal = error;
        throw error;
      }
    };
    if (isGzip) await pipeline(createReadStream(path), createGunzip(), collect);
    else await pipeline(createReadStream(path), collect);
    return sink.finish();
  } catch (error) {
    throw asMpError(path, refusal ?? error);
  }
}

async function inspect(path: string): Promise<{ fileBytes: number; isGzip: boolean }> {
  const fileBytes = await sizeOfFile(path);
  const file = await open(path, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(2), 0, 2, 0);
    return { fileBytes, isGzip: bytesRead === 2 && buffer[0] === 0x1f && buffer[1] === 0x8b };
  } finally {
    await file.close();
  }
}

/** Collects a stream: a small head until the length is known, then one array of that length. */
class Sink {
  readonly #path: string;
  readonly #measure: (head: Uint8Array) => Measured;
  readonly #mostBytes: number;
  #head = Buffer.alloc(0);
  #bytes: Uint8Array | undefined;
  #filled = 0;

  constructor(path: string, measure: (head: Uint8Array) => Measured, mostBytes: number) {
    this.#path = path;
    this.#measure = measure;
    this.#mostBytes = mostBytes;
  }

  take(chunk: Buffer): void {
    if (this.#bytes !== undefined) {
      this.#fill(this.#bytes, chunk);
      return;
    }
    this.#head = Buffer.concat([this.#head, chunk]);
    const total = this.#total();
    if (total === undefined) return;
    this.#bytes = new Uint8Array(total);
    this.#fill(this.#bytes, this.#head);
    this.#head = Buffer.alloc(0);
  }

  finish(): Uint8Array {
    if (this.#bytes === undefined) {
      const measured = this.#measure(this.#head);
      const needed = "neededBytes" in measured ? measured.neededBytes : measured.totalBytes;
      if (needed === 0) return new Uint8Array(0);
      throw this.#shorter(needed, this.#head.length);
    }
    if (this.#filled < this.#bytes.length) throw this.#shorter(this.#bytes.length, this.#filled);
    return this.#bytes;
  }

  #total(): number | undefined {
    const measured = this.#measure(this.#head);
    if ("neededBytes" in measured) return undefined;
    const { totalBytes } = measured;
    if (totalBytes > MOST_BYTES) {
      throw this.#parse(`claims ${totalBytes} bytes, the most is ${MOST_BYTES}; split it`, 0);
    }
    if (totalBytes > this.#mostBytes) throw this.#shorter(totalBytes, this.#mostBytes);
    return totalBytes;
  }

  #fill(bytes: Uint8Array, chunk: Uint8Array): void {
    if (this.#filled + chunk.length > bytes.length) {
      throw this.#parse(`goes on after byte ${bytes.length}, where it should end`, bytes.length);
    }
    bytes.set(chunk, this.#filled);
    this.#filled += chunk.length;
  }

  #shorter(wanted: number, got: number): MpError {
    return this.#parse(`says it has ${wanted} bytes and cannot have more than ${got}`, got);
  }

  #parse(what: string, offset: number): MpError {
    return fileError(this.#path, `${what}; download the file again`, { offset });
  }
}
