import { createReadStream } from "node:fs";
import { TextDecoder } from "node:util";
import { fileError, invalid } from "../errors.js";
import { asMpError, sizeOfFile } from "../regular-file.js";

/** Longer stretches are cut at white space, so that a file with one giant line needs no giant string. */
const LONGEST_STRETCH = 1 << 16;

/** A part of a file. It ends at its separator, or was cut for length and continues in the next one. */
export interface Stretch {
  readonly text: string;
  readonly complete: boolean;
}

/**
 * Reads a UTF-8 file in stretches: its lines, or its paragraphs (separated by blank lines). It needs constant memory;
 * a byte order mark is dropped; `\r\n` and `\r` end lines as `\n` does.
 * @throws MP_IO if the file cannot be read, MP_PARSE if it is not UTF-8, naming the byte
 */
export async function* readStretches(
  path: string,
  separator: "line" | "paragraph",
): AsyncGenerator<Stretch, undefined> {
  const boundary = separator === "line" ? /\n/g : /\n[^\S\n]*\n\s*/g;
  let rest = "";
  for await (const chunk of readChunks(path)) {
    rest += chunk;
    let start = 0;
    // A boundary that touches the end may go on in the next chunk.
    for (const match of rest.matchAll(boundary)) {
      const end = match.index + match[0].length;
      if (separator === "paragraph" && end === rest.length) break;
      yield { text: rest.slice(start, match.index), complete: true };
      start = end;
    }
    rest = rest.slice(start);
    while (rest.length > LONGEST_STRETCH) {
      const cut = lastSpace(rest, LONGEST_STRETCH);
      yield { text: rest.slice(0, cut), complete: false };
      rest = rest.slice(cut);
    }
  }
  if (rest.length > 0) yield { text: rest, complete: true };
}

/**
 * Reads a whole file, for formats that need it at once.
 * @throws MP_INVALID_ARGUMENT above `maxBytes`; otherwise as `readStretches`
 */
export async function readWhole(path: string, maxBytes: number): Promise<string> {
  const parts: string[] = [];
  let size = 0;
  for await (const chunk of readChunks(path)) {
    size += chunk.length;
    if (size > maxBytes) {
      throw invalid(
        `${path}: longer than ${maxBytes} bytes, the most that is read as Markdown; name it .txt to read it as plain text`,
        { path, maxBytes },
      );
    }
    parts.push(chunk);
  }
  return parts.join("");
}

async function* readChunks(path: string): AsyncGenerator<string, undefined> {
  await sizeOfFile(path);
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let offset = 0;
  let endsInReturn = false;
  const normalize = (text: string): string => {
    const whole = endsInReturn ? `\r${text}` : text;
    endsInReturn = whole.endsWith("\r");
    return (endsInReturn ? whole.slice(0, -1) : whole).replace(/\r\n?/g, "\n");
  };
  try {
    for await (const chunk of createReadStream(path, { highWaterMark: LONGEST_STRETCH })) {
      const bytes = chunk as Buffer;
      yield normalize(decodeAt(decoder, bytes, offset, path));
      offset += bytes.length;
    }
    decodeAt(decoder, undefined, offset, path);
    if (endsInReturn) yield "\n";
  } catch (error) {
    throw asMpError(path, error);
  }
}

function decodeAt(decoder: TextDecoder, bytes: Buffer | undefined, offset: number, path: string): string {
  try {
    return decoder.decode(bytes, { stream: bytes !== undefined });
  } catch (cause) {
    const near = offset + (bytes === undefined ? 0 : firstInvalid(bytes));
    throw fileError(
      path,
      `not UTF-8 near byte ${near}; convert it, for example with iconv -f latin1 -t utf-8`,
      { byte: near },
      cause,
    );
  }
}

/** The length of the longest valid prefix, found by bisection because the decoder does not tell it. */
function firstInvalid(bytes: Buffer): number {
  // A character cut by the chunk before leaves up to three continuation bytes at the front.
  let first = 0;
  while (first < 3 && ((bytes[first] ?? 0) & 0xc0) === 0x80) first++;
  if (isValidSoFar(bytes.subarray(first))) return 0;
  let valid = first;
  let invalid = bytes.length;
  while (invalid - valid > 1) {
    const middle = (valid + invalid) >> 1;
    if (isValidSoFar(bytes.subarray(first, middle))) valid = middle;
    else invalid = middle;
  }
  return valid;
}

function isValidSoFar(bytes: Buffer): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}

function lastSpace(text: string, limit: number): number {
  for (let index = limit; index > 0; index--) {
    if (/\s/.test(text[index] ?? "")) return index;
  }
  const splitsPair = /[\uD800-\uDBFF]/.test(text[limit - 1] ?? "");
  return splitsPair ? limit - 1 : limit;
}
