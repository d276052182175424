import { createReadStream } from "node:fs";
import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
import { asMpError } from "../regular-file.js";
import type { Inspected } from "./row-file.js";

/**
 * The bytes of a file from a place on, unpacked where it is gzipped. A packed file is unpacked from its beginning to
 * get there.
 * @throws MP_IO for a file that cannot be read, MP_PARSE for no sound gzip file
 */
export async function* byteStream(
  { path, isGzip }: Inspected,
  start: number,
): AsyncGenerator<Buffer, undefined> {
  const source = createReadStream(path, isGzip ? {} : { start });
  // Errors reach the reader of the last stream, which pipeline destroys with them.
  const stream = isGzip ? pipeline(source, createGunzip(), () => {}) : source;
  let skip = isGzip ? start : 0;
  try {
    for await (const chunk of stream) {
      const bytes = chunk as Buffer;
      if (skip < bytes.length) yield bytes.subarray(skip);
      skip = Math.max(0, skip - bytes.length);
    }
  } catch (error) {
    throw asMpError(path, error);
  } finally {
    source.destroy();
  }
}
