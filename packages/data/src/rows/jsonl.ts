import { TextDecoder } from "node:util";
import { shown } from "@mp/core/internal";
import type { RowPlace } from "../row-place.js";
import { byteStream } from "./byte-stream.js";
import {
  brokenRow,
  type Inspected,
  LONGEST_ROW_BYTES,
  type ReadRow,
  type Row,
  type RowFile,
  type RowStart,
} from "./row-file.js";

/** One JSON object a line, UTF-8; blank lines hold no rows. */
export async function openJsonl(file: Inspected): Promise<RowFile> {
  return { columns: undefined, rows: (start) => readJsonl(file, start) };
}

async function* readJsonl(file: Inspected, start: RowStart): AsyncGenerator<ReadRow, undefined> {
  let { row, byte, line } = start;
  for await (const bytes of linesOf(file, start)) {
    line++;
    byte += bytes.length;
    const place = { path: file.path, row: row + 1, line };
    const text = textOf(bytes, place).trim();
    if (text === "") continue;
    row++;
    yield { values: parse(text, place), place, next: { row, byte, line } };
  }
}

/** Lines with their ends. */
async function* linesOf(file: Inspected, { row, byte, line }: RowStart): AsyncGenerator<Buffer, undefined> {
  let parts: Buffer[] = [];
  let length = 0;
  let ahead = 0;
  for await (const chunk of byteStream(file, byte)) {
    let from = 0;
    for (let at = chunk.indexOf(0x0a); at >= 0; at = chunk.indexOf(0x0a, from)) {
      yield Buffer.concat([...parts, chunk.subarray(from, at + 1)]);
      parts = [];
      length = 0;
      ahead++;
      from = at + 1;
    }
    parts.push(chunk.subarray(from));
    length += chunk.length - from;
    if (length > LONGEST_ROW_BYTES) {
      const place = { path: file.path, row: row + ahead + 1, line: line + ahead + 1 };
      throw brokenRow(place, `is longer than ${LONGEST_ROW_BYTES} bytes; split it, or write a row a line`);
    }
  }
  if (length > 0) yield Buffer.concat(parts);
}

/** A byte order mark within a row belongs to it; that of a file is dropped before. */
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export function textOf(bytes: Uint8Array, place: RowPlace): string {
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    const remedy = "convert the file, for example with iconv -f latin1 -t utf-8";
    throw brokenRow(place, `is not UTF-8; ${remedy}`, {}, cause);
  }
}

function parse(text: string, place: RowPlace): Row {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const remedy = "correct the row, or download the file again if it was cut short";
    throw brokenRow(place, `is no sound JSON, ${reason}; ${remedy}`, {}, cause);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Row;
  const got = typeof value === "object" ? shown(value) : `${typeof value} ${shown(value)}`;
  throw brokenRow(place, `must be a JSON object such as {"text": "…"}, got ${got}; write one a line`);
}
