import type { Info } from "csv-parse";
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

/** A record, and the number of bytes read up to its end. */
interface CsvRecord {
  readonly record: readonly Buffer[];
  readonly info: Pick<Info, "bytes">;
}

type Records = (start: RowStart) => AsyncIterable<CsvRecord>;

/**
 * Opens CSV as in RFC 4180, in UTF-8 and with a header. Lines end with \n or \r\n; blank lines are skipped if there
 * are several columns.
 */
export async function openCsv(file: Inspected, delimiter: string): Promise<RowFile> {
  const { parse } = await loadReader("readRows: CSV", "csv-parse", () => import("csv-parse"));
  const records: Records = async function* (start) {
    const parsed: CsvRecord[] = [];
    const parser = parse({
      delimiter,
      // Bytes: the parser would replace what is not UTF-8.
      encoding: null,
      max_record_size: LONGEST_ROW_BYTES,
      record_delimiter: ["\r\n", "\n"],
      relax_column_count: true,
      // Where it fails, the stream drops the records before that nobody has read.
      on_record: (record: unknown, info) => {
        parsed.push({ record: record as readonly Buffer[], info });
        return null;
      },
    });
    parser.on("error", () => {});
    const settle = (act: (end: (error?: Error | null) => void) => void) =>
      new Promise<Error | null | undefined>((end) => act(end));
    for await (const chunk of streamBytes(file, start.byte)) {
      const error = await settle((end) => parser.write(chunk, end));
      yield* parsed.splice(0);
      if (error) throw error;
    }
    const error = await settle((end) => parser.end(end));
    yield* parsed;
    if (error) throw error;
  };
  const { columns, end } = await readHeader(file, records, await beginning(file), delimiter);
  return {
    columns,
    rows: (start) => readCsv(file, records, columns, start.byte === 0 ? end : start),
  };
}

/** The position after a byte order mark, if any. The parser's own option for it would decode the rest as text. */
async function beginning(file: Inspected): Promise<RowStart> {
  for await (const [first, second, third] of streamBytes(file, 0)) {
    const isMarked = first === 0xef && second === 0xbb && third === 0xbf;
    return { ...FILE_START, byte: isMarked ? 3 : 0 };
  }
  return FILE_START;
}

async function readHeader(
  { path }: Inspected,
  records: Records,
  start: RowStart,
  delimiter: string,
): Promise<{ readonly columns: readonly string[]; readonly end: RowStart }> {
  const place = { path, row: 0, line: 1 };
  try {
    for await (const { record, info } of records(start)) {
      const columns = record.map((name) => decodeText(name, place));
      const twice = columns.find((name, at) => columns.indexOf(name) !== at);
      if (twice === undefined)
        return { columns, end: { row: 0, byte: start.byte + info.bytes, line: linesIn(record) } };
      const remedy = `name each column once, with ${JSON.stringify(delimiter)} between them`;
      throw fileError(path, `its header names ${JSON.stringify(twice)} twice; ${remedy}`);
    }
  } catch (error) {
    throw asBroken(error, place);
  }
  throw fileError(path, "has no header; name its columns in its first line");
}

async function* readCsv(
  { path }: Inspected,
  records: Records,
  columns: readonly string[],
  start: RowStart,
): AsyncGenerator<ReadRow, undefined> {
  let { row, line } = start;
  try {
    for await (const { record, info } of records(start)) {
      const place = { path, row: row + 1, line: line + 1 };
      line += linesIn(record);
      if (record.length === 1 && columns.length > 1 && record[0]?.length === 0) continue;
      if (record.length !== columns.length) {
        const remedy = "correct it, quote fields that hold the delimiter, or download the file again";
        throw rowError(
          place,
          `has ${record.length} fields and the header ${columns.length}, ${columns.join(", ")}; ${remedy}`,
        );
      }
      row++;
      const values = Object.fromEntries(
        columns.map((name, at) => [name, decodeText(record[at] as Buffer, place)]),
      );
      yield { values, place, next: { row, byte: start.byte + info.bytes, line } };
    }
  } catch (error) {
    throw asBroken(error, { path, row: row + 1, line: line + 1 });
  }
}

/** Counts lines, because the parser counts \r\n within quotes twice. */
const linesIn = (record: readonly Buffer[]): number =>
  record.reduce((lines, field) => lines + field.filter((byte) => byte === 0x0a).length, 1);

function asBroken(error: unknown, place: { path: string; row: number; line: number }): unknown {
  const { code } = error as { readonly code?: unknown };
  if (!(error instanceof Error) || typeof code !== "string" || code.startsWith("MP_")) return error;
  const [reason = ""] = error.message.split(":");
  const remedy = "correct the quotes, or download the file again if it was cut short";
  return rowError(place, `is not valid CSV, ${reason.toLowerCase()}; ${remedy}`, { reason: code }, error);
}
