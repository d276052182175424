/** Opens and checks a file of rows in any format. Its rows can then be read from any row on. */
import { MpError } from "@mp/core";
import { contentHash } from "@mp/graph/internal";
import { fileError } from "../errors.js";
import { isGzipped, readRange, sizeOfFile } from "../regular-file.js";
import { formatPlace, type RowPlace } from "../row-place.js";

export type Row = Readonly<Record<string, unknown>>;

/** A position between rows: the number of rows before it and, in text files, of unpacked bytes and lines. */
export type RowStart = Readonly<Record<"row" | "byte" | "line", number>>;

export const FILE_START: RowStart = { row: 0, byte: 0, line: 0 };

export interface ReadRow {
  readonly values: Row;
  readonly place: RowPlace;
  /** The position after the row. */
  readonly next: RowStart;
}

export interface RowFile {
  /** The columns of all rows, if the format declares them. */
  readonly columns: readonly string[] | undefined;
  /** Reads all rows after a position. @throws MP_PARSE for a broken row, MP_IO for a file that cannot be read */
  rows(start: RowStart): AsyncIterable<ReadRow>;
}

/** Number of bytes at each end of a file that go into its signature. */
const END_BYTES = 2 ** 16;

export interface Inspected {
  readonly path: string;
  readonly sizeBytes: number;
  /** Whether the file is gzipped, by its first two bytes, not by its name. */
  readonly isGzip: boolean;
  /** The file's size, and a hash of both ends. */
  readonly signature: string;
}

/** Reads both ends of a file. @throws MP_IO if it is not regular or is unreadable, MP_PARSE if it is empty */
export async function inspect(path: string): Promise<Inspected> {
  const sizeBytes = await sizeOfFile(path);
  if (sizeBytes === 0) throw fileError(path, "is empty; write rows into it, or leave it out");
  const head = await readRange(path, 0, Math.min(END_BYTES, sizeBytes));
  const tail = await readRange(path, Math.max(0, sizeBytes - END_BYTES), sizeBytes);
  return {
    path,
    sizeBytes,
    isGzip: isGzipped(head),
    signature: `${sizeBytes} ${contentHash(head)} ${contentHash(tail)}`,
  };
}

/** MP_PARSE for a row; `what` ends with the remedy. */
export const rowError = (
  place: RowPlace,
  what: string,
  details: Readonly<Record<string, unknown>> = {},
  cause?: unknown,
): MpError<"MP_PARSE"> =>
  new MpError("MP_PARSE", `${formatPlace(place)}: ${what}`, { details: { ...place, ...details }, cause });
