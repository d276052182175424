import { shown } from "@mp/graph/internal";
import type { RowPlace } from "../row-place.js";
import { decodeText, streamLines } from "./lines.js";
import { type Inspected, type ReadRow, type Row, type RowStart, rowError } from "./row-file.js";

/** Reads one JSON object per line, in UTF-8; blank lines are skipped. */
export async function* readJsonl(
  file: Inspected,
  { row, byte, line }: RowStart,
): AsyncGenerator<ReadRow, undefined> {
  const place = (): RowPlace => ({ path: file.path, row: row + 1, line: line + 1 });
  for await (const bytes of streamLines(file, byte, place)) {
    const at = place();
    const text = decodeText(bytes, at).trim();
    line++;
    byte += bytes.length;
    if (text === "") continue;
    row++;
    yield { values: parse(text, at), place: at, next: { row, byte, line } };
  }
}

function parse(text: string, place: RowPlace): Row {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const remedy = "write one JSON object a line, or download the file again if it was cut short";
    throw rowError(place, `is not valid JSON, ${reason}; ${remedy}`, {}, cause);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Row;
  const got = typeof value === "object" ? shown(value) : `${typeof value} ${shown(value)}`;
  throw rowError(place, `must be a JSON object such as {"text": "…"}, got ${got}; write one a line`);
}
