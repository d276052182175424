import { readFile } from "node:fs/promises";
import { TextDecoder } from "node:util";
import { fileError, parseError } from "./errors.js";
import { asMpError, sizeOfFile } from "./regular-file.js";

/** One less than the length of Node's longest string. */
const LONGEST_TEXT = 2 ** 29 - 25;
/** Number of bytes, from the beginning of a file, in which the encoding's name is searched. */
const HEAD_BYTES = 256;

/**
 * Reads a text file of at most `mostBytes`, without its byte order mark.
 * @param encodingOf finds the encoding's name in the first bytes; default UTF-8
 * @throws MP_IO for a file that cannot be read; MP_PARSE for one that is too long, or not in its encoding, naming the
 *   byte
 */
export async function readTextFile(
  path: string,
  mostBytes: number = LONGEST_TEXT,
  encodingOf?: (head: string) => string | undefined,
): Promise<string> {
  const size = await sizeOfFile(path);
  if (size > mostBytes) throw parseError(path, `has ${size} bytes, the most is ${mostBytes}; split it`);
  const bytes = await readFile(path).catch((error: unknown) => {
    throw asMpError(path, error);
  });
  const encoding = encodingByMark(bytes) ?? encodingOf?.(bytes.toString("latin1", 0, HEAD_BYTES)) ?? "utf-8";
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch (cause) {
    const byte = validBytes(bytes, encoding);
    const remedy = "convert it to UTF-8, for example with iconv -f latin1 -t utf-8";
    throw fileError(path, `is not in ${encoding} near byte ${byte}; ${remedy}`, { byte }, cause);
  }
}

/** Returns the encoding named by the byte order mark of UTF-16, if the file begins with one. */
function encodingByMark([first, second]: Uint8Array): string | undefined {
  if (first === 0xff && second === 0xfe) return "utf-16le";
  return first === 0xfe && second === 0xff ? "utf-16be" : undefined;
}

/** The length of the longest valid beginning, which the decoder does not tell. */
function validBytes(bytes: Uint8Array, encoding: string): number {
  let [valid, invalid] = [0, bytes.length + 1];
  while (invalid - valid > 1) {
    const middle = (valid + invalid) >>> 1;
    try {
      new TextDecoder(encoding, { fatal: true }).decode(bytes.subarray(0, middle), { stream: true });
      valid = middle;
    } catch {
      invalid = middle;
    }
  }
  return valid;
}
