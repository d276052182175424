/** CSV as in RFC 4180 with a header, UTF-8; lines end with \n or \r\n. */
import type { RowPlace } from "../row-place.js";
import { expectLength, linesOf, textOf } from "./lines.js";
import { broken, brokenRow, type Inspected, type ReadRow, type RowFile, type RowStart } from "./row-file.js";

interface CsvRecord {
  readonly fields: readonly string[];
  readonly bytes: number;
  readonly lines: number;
}

export async function openCsv(file: Inspected, delimiter: string): Promise<RowFile> {
  const place = () => ({ path: file.path, row: 0, line: 1 });
  for await (const { fields, bytes, lines } of recordsOf(file, 0, delimiter, place)) {
    const twice = fields.find((name, at) => fields.indexOf(name) !== at);
    if (twice !== undefined) {
      const remedy = `name each column once, with ${JSON.stringify(delimiter)} between them`;
      throw broken(file.path, `its header names ${JSON.stringify(twice)} twice; ${remedy}`);
    }
    const first = { row: 0, byte: bytes, line: lines };
    const rows = (start: RowStart) => readCsv(file, fields, start.byte === 0 ? first : start, delimiter);
    return { columns: fields, rows };
  }
  throw broken(file.path, "has no header; name its columns in its first line");
}

/** Blank lines of a file of several columns hold no rows. */
async function* readCsv(
  file: Inspected,
  columns: readonly string[],
  start: RowStart,
  delimiter: string,
): AsyncGenerator<ReadRow, undefined> {
  let { row, byte, line } = start;
  const next = (): RowPlace => ({ path: file.path, row: row + 1, line: line + 1 });
  for await (const { fields, bytes, lines } of recordsOf(file, byte, delimiter, next)) {
    const place = next();
    byte += bytes;
    line += lines;
    if (fields.length === 1 && columns.length > 1 && fields[0] === "") continue;
    if (fields.length !== columns.length) {
      const counts = `has ${fields.length} fields and the header ${columns.length}, ${columns.join(", ")}`;
      const remedy = "correct it, quote fields that hold the delimiter, or download the file again";
      throw brokenRow(place, `${counts}; ${remedy}`);
    }
    row++;
    const values = Object.fromEntries(columns.map((name, at) => [name, fields[at]]));
    yield { values, place, next: { row, byte, line } };
  }
}

/** Records, each of as many lines as close its quotes. @param place of the record that is being read */
async function* recordsOf(
  file: Inspected,
  start: number,
  delimiter: string,
  place: () => RowPlace,
): AsyncGenerator<CsvRecord, undefined> {
  let lines: Buffer[] = [];
  let bytes = 0;
  let isOpen = false;
  const take = (): CsvRecord => {
    const text = textOf(Buffer.concat(lines), place()).replace(/\r?\n$/, "");
    const fields = fieldsOf(start === 0 ? text.replace(/^\ufeff/, "") : text, delimiter);
    if (fields !== undefined) return { fields, bytes, lines: lines.length };
    const remedy = "correct them, or download the file again if it was cut short";
    throw brokenRow(place(), `is no sound CSV, quotes must be around fields and doubled within; ${remedy}`);
  };
  for await (const line of linesOf(file, start, place)) {
    lines.push(line);
    bytes += line.length;
    expectLength(bytes, place);
    for (let at = line.indexOf('"'); at >= 0; at = line.indexOf('"', at + 1)) isOpen = !isOpen;
    if (isOpen) continue;
    yield take();
    lines = [];
    bytes = 0;
  }
  if (isOpen) yield take();
}

/** The fields of a record, undefined where its quotes are not around whole fields. */
function fieldsOf(text: string, delimiter: string): string[] | undefined {
  const fields: string[] = [];
  for (let at = 0; ; at++) {
    let end = text.indexOf(delimiter, at);
    if (text[at] === '"') {
      end = text.indexOf('"', at + 1);
      while (end >= 0 && text[end + 1] === '"') end = text.indexOf('"', end + 2);
      if (end < 0) return undefined;
      fields.push(text.slice(at + 1, end).replaceAll('""', '"'));
      end++;
    } else {
      if (end < 0) end = text.length;
      const field = text.slice(at, end);
      if (field.includes('"')) return undefined;
      fields.push(field);
    }
    if (end === text.length) return fields;
    if (text[end] !== delimiter) return undefined;
    at = end;
  }
}
