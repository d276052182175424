/**
 * Reads binary files whose header gives their length, as untrusted data: nothing is allocated before the header's
 * sizes are compared with the file's own size.
 */

import type { MpError } from "@mp/core";
import { MOST_BYTES } from "./data-size.js";
import { fileError } from "./errors.js";
import { isGzipped, readRange, sizeOfFile, streamFile } from "./regular-file.js";

/** Deflate's highest ratio, 258 bytes for 2 bits, rounded up; a file that declares more is invalid. */
const GREATEST_RATIO = 1032;

/** Longest header, that of an IDX file of 255 dimensions. */
const HEAD_BYTES = 4 + 4 * 255;

/**
 * Reads the bytes of a file, and unpacks it if its first two bytes are those of gzip.
 * @param measure returns the length of the file; given its first bytes, which are all if the file is shorter than any
 *   header
 * @throws MP_IO for a file that cannot be read, MP_PARSE for one that is shorter or longer than its header says, and
 *   for an invalid gzip file
 */
export async function readBytes(
  path: string,
  measure: (head: Uint8Array, fileBytes: number) => number,
): Promise<Uint8Array> {
  const fileBytes = await sizeOfFile(path);
  const isGzip = isGzipped(await readRange(path, 0, Math.min(2, fileBytes)));
  let head = Buffer.alloc(0);
  for await (const chunk of streamFile(path, isGzip)) {
    head = Buffer.concat([head, chunk]);
    if (head.length >= HEAD_BYTES) break;
  }
  const totalBytes = measure(head, fileBytes);
  if (totalBytes > MOST_BYTES)
    throw refusal(path, `claims ${totalBytes} bytes, the most is ${MOST_BYTES}; split it`, 0);
  const mostBytes = isGzip ? GREATEST_RATIO * fileBytes : fileBytes;
  if (totalBytes > mostBytes) throw shorter(path, totalBytes, mostBytes);
  const bytes = new Uint8Array(totalBytes);
  let filled = 0;
  for await (const chunk of streamFile(path, isGzip)) {
    if (filled + chunk.length > totalBytes)
      throw refusal(path, `goes on after byte ${totalBytes}, where it should end`, totalBytes);
    bytes.set(chunk, filled);
    filled += chunk.length;
  }
  if (filled < totalBytes) throw shorter(path, totalBytes, filled);
  return bytes;
}

const shorter = (path: string, wanted: number, got: number): MpError =>
  refusal(path, `says it has ${wanted} bytes and cannot have more than ${got}`, got);

const refusal = (path: string, what: string, offset: number): MpError =>
  fileError(path, `${what}; download the file again`, { offset });
