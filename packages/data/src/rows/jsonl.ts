import { shown } from "@mp/graph/internal";
import { reasonOf } from "../errors.js";
import type { RowPlace } from "../row-place.js";
import { findBig, type KeepsBig, markBig, refuseBig, reviveBig } from "./big-integers.js";
import { decodeText, streamLines } from "./lines.js";
import { type Inspected, type ReadRow, type Row, type RowStart, rowError } from "./row-file.js";

/** Reads one JSON object per line, in UTF-8; blank lines are skipped. */
export async function* readJsonl(
  file: Inspected,
  { row, byte, line }: RowStart,
  keepsBig: KeepsBig,
): AsyncGenerator<ReadRow, undefined> {
  const place = (): RowPlace => ({ path: file.path, row: row + 1, line: line + 1 });
  for await (const bytes of streamLines(file, byte, place)) {
    const at = place();
    const text = decodeText(bytes, at).trim();
    line++;
    byte += bytes.length;
    if (text === "") continue;
    row++;
    yield { values: parse(text, at, keepsBig), place: at, next: { row, byte, line } };
  }
}

function parse(text: string, place: RowPlace, keepsBig: KeepsBig): Row {
  const row = parseObject(text, place);
  const marked = /\d{16}/.test(text) ? markBig(text, place) : text;
  if (marked === text) return row;
  const exact = parseObject(marked, place, reviveBig);
  for (const [column, value] of Object.entries(exact)) {
    const big = keepsBig(column) ? undefined : findBig(value);
    if (big !== undefined) throw refuseBig(place, column, big);
  }
  return exact;
}

function parseObject(text: string, place: RowPlace, revive?: typeof reviveBig): Row {
  let value: unknown;
  try {
    value = JSON.parse(text, revive);
  } catch (cause) {
    const remedy = /[^"]\b(NaN|Infinity)\b[^"]/.test(text)
      ? "write NaN and Infinity as null or as text, JSON has neither"
      : "write one JSON object a line, or download the file again if it was cut short";
    throw rowError(place, `is not valid JSON, ${reasonOf(cause)}; ${remedy}`, {}, cause);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Row;
  const got = typeof value === "object" ? shown(value) : `${typeof value} ${shown(value)}`;
  throw rowError(place, `must be a JSON object such as {"text": "…"}, got ${got}; write one a line`);
}
