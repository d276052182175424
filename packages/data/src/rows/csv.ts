import type { Info, parse } from "csv-parse";
import { fileError } from "../errors.js";
import { loadReader } from "../load-reader.js";
import { decodeText, LONGEST_ROW_BYTES, streamBytes } from "./lines.js";
import {
  FILE_START,
  type Inspected,
  type ReadRow,
  type RowFile,
  type RowStart,
  rowError,
} from "./row-file.js";

/** A record before its fields have names. */
interface CsvRecord extends Pick<ReadRow, "place" | "next"> {
  readonly fields: readonly string[];
}

/** Opens CSV as in RFC 4180, in UTF-8 and with a header. Lines end with \n, \r\n or \r; blank lines are skipped. */
export async function openCsv(file: Inspected, delimiter: string): Promise<RowFile> {
  const library = await loadReader("readRows: CSV", "csv-parse", () => import("csv-parse"));
  const records = (start: RowStart) => readRecords(file, library.parse, delimiter, start);
  const beginning = { ...FILE_START, row: -1, byte: await markBytes(file) };
  for await (const { fields: columns, next: end } of records(beginning)) {
    const twice = columns.find((name, at) => columns.indexOf(name) !== at);
    if (twice !== undefined) {
      const remedy = `name each column once, with ${JSON.stringify(delimiter)} between them`;
      throw fileError(file.path, `its header names ${JSON.stringify(twice)} twice; ${remedy}`);
    }
    return {
      columns,
      async *rows(start) {
        for await (const { fields, place, next } of records(start.byte === 0 ? end : start)) {
          if (fields.length !== columns.length) {
            const remedy = "correct it, quote fields that hold the delimiter, or download the file again";
            throw rowError(
              place,
              `has ${fields.length} fields and the header ${columns.length}, ${columns.join(", ")}; ${remedy}`,
            );
          }
          yield { values: Object.fromEntries(columns.map((name, at) => [name, fields[at]])), place, next };
        }
      },
    };
  }
  throw fileError(file.path, "has no header; name its columns in its first line");
}

/** The length of a byte order mark, if any. The parser's own option for it would decode the rest as text. */
async function markBytes(file: Inspected): Promise<number> {
  for await (const chunk of streamBytes(file, 0))
    return chunk.subarray(0, 3).toString("latin1") === "\xef\xbb\xbf" ? 3 : 0;
  return 0;
}

async function* readRecords(
  file: Inspected,
  parser: typeof parse,
  delimiter: string,
  start: RowStart,
): AsyncGenerator<CsvRecord, undefined> {
  const parsed: { readonly record: readonly Buffer[]; readonly info: Info }[] = [];
  const stream = parser({
    delimiter,
    // Bytes, because the parser would replace invalid UTF-8.
    encoding: null,
    max_record_size: LONGEST_ROW_BYTES,
    record_delimiter: ["\r\n", "\n", "\r"],
    relax_column_count: true,
    skip_empty_lines: true,
    // On an error, the stream would drop earlier records that nobody has read.
    on_record: (record: unknown, info) => {
      parsed.push({ record: record as readonly Buffer[], info });
      return null;
    },
  });
  stream.on("error", () => {});
  let { row, line } = start;
  let empty = 0;
  /** The place of the next record, after all empty lines so far. */
  const placeAfter = (emptyLines: number) => {
    line += emptyLines - empty;
    empty = emptyLines;
    return { path: file.path, row: row + 1, line: line + 1 };
  };
  function* take(error: (Error & Partial<Info>) | null | undefined): Generator<CsvRecord, undefined> {
    for (const { record, info } of parsed.splice(0)) {
      const place = placeAfter(info.empty_lines);
      row++;
      line += linesIn(record);
      const fields = record.map((field) => decodeText(field, place));
      yield { fields, place, next: { row, byte: start.byte + info.bytes, line } };
    }
    if (!error) return;
    const [reason = ""] = error.message.split(":");
    throw rowError(
      placeAfter(error.empty_lines ?? empty),
      `is not valid CSV, ${reason.toLowerCase()}; correct the quotes, or download the file again if it was cut short`,
      { reason: (error as NodeJS.ErrnoException).code },
      error,
    );
  }
  for await (const chunk of streamBytes(file, start.byte))
    yield* take(await new Promise((end) => stream.write(chunk, end)));
  yield* take(await new Promise((end) => stream.end(end)));
}

/** Counts the lines of a record. The parser's own count takes \r\n within quotes for two lines. */
const linesIn = (record: readonly Buffer[]): number =>
  record.reduce((lines, field) => lines + (field.toString("latin1").match(/\r\n?|\n/g)?.length ?? 0), 1);
