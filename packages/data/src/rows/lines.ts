/** Reads the lines of a text file, which may be gzipped. */

import { TextDecoder } from "node:util";
import { fileError } from "../errors.js";
import { streamFile } from "../regular-file.js";
import type { RowPlace } from "../row-place.js";
import { type Inspected, rowError } from "./row-file.js";

/** Largest number of bytes of a row, so that a file with one giant line does not fill the memory. */
export const LONGEST_ROW_BYTES: number = 2 ** 26;

/**
 * Streams lines, with their line ends, from a byte offset on. A gzipped file is unpacked from its beginning.
 * @param place of the current row, for messages
 * @throws MP_IO for a file that cannot be read, MP_PARSE for an invalid gzip file, for UTF-16, and for a line that is
 *   too long
 */
export async function* streamLines(
  file: Inspected,
  start: number,
  place: () => RowPlace,
): AsyncGenerator<Buffer, undefined> {
  let parts: Buffer[] = [];
  let length = 0;
  for await (const chunk of streamBytes(file, start)) {
    let from = 0;
    for (let at = chunk.indexOf(0x0a); at >= 0; at = chunk.indexOf(0x0a, from)) {
      yield Buffer.concat([...parts, chunk.subarray(from, at + 1)]);
      parts = [];
      length = 0;
      from = at + 1;
    }
    parts.push(chunk.subarray(from));
    length += chunk.length - from;
    if (length > LONGEST_ROW_BYTES)
      throw rowError(place(), `is longer than ${LONGEST_ROW_BYTES} bytes; split it, or write a row a line`);
  }
  if (length > 0) yield Buffer.concat(parts);
}

/** Streams the unpacked bytes of a file from an offset on. @throws MP_IO, MP_PARSE for invalid gzip and UTF-16 */
export async function* streamBytes(
  { path, isGzip }: Inspected,
  start: number,
): AsyncGenerator<Buffer, undefined> {
  let skip = isGzip ? start : 0;
  let isBeginning = start === 0;
  for await (const bytes of streamFile(path, isGzip, isGzip ? 0 : start)) {
    const encoding = isBeginning ? utf16(bytes) : undefined;
    if (encoding !== undefined)
      throw fileError(
        path,
        `is ${encoding} and must be UTF-8; convert it, with iconv -f ${encoding} -t UTF-8`,
      );
    isBeginning = false;
    if (skip < bytes.length) yield bytes.subarray(skip);
    skip = Math.max(0, skip - bytes.length);
  }
}

/** Detects UTF-16 by its mark or by two ASCII letters at the beginning. */
function utf16([a, b, c, d]: Uint8Array): string | undefined {
  const isLetter = (low: number | undefined, high: number | undefined) => low !== 0 && high === 0;
  if ((a === 0xff && b === 0xfe) || (isLetter(a, b) && isLetter(c, d))) return "UTF-16LE";
  return (a === 0xfe && b === 0xff) || (isLetter(b, a) && isLetter(d, c)) ? "UTF-16BE" : undefined;
}

/** Keeps byte order marks within rows; the one at the start of the file is removed earlier. */
export const decoder: TextDecoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export function decodeText(bytes: Uint8Array, place: RowPlace): string {
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    const remedy = "convert the file, for example with iconv -f latin1 -t utf-8";
    throw rowError(place, `is not UTF-8; ${remedy}`, {}, cause);
  }
}
