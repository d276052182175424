/** Opens and checks a file of rows in any format. Its rows can then be read from any place. */
import { open } from "node:fs/promises";
import { MpError } from "@mp/core";
import { contentHash } from "@mp/graph/internal";
import { fileError } from "../errors.js";
import { asMpError, sizeOfFile } from "../regular-file.js";
import { formatPlace, type RowPlace } from "../row-place.js";

export type Row = Readonly<Record<string, unknown>>;

/** A place before a row: the number of rows that precede it and, for text, of unpacked bytes and lines. */
export type RowStart = Readonly<Record<"row" | "byte" | "line", number>>;

export const FILE_START: RowStart = { row: 0, byte: 0, line: 0 };

export interface ReadRow {
  readonly values: Row;
  readonly place: RowPlace;
  /** The place after the row. */
  readonly next: RowStart;
}

export interface RowFile {
  /** The columns of all rows, if the format declares them. */
  readonly columns: readonly string[] | undefined;
  /** Reads rows from a place on. @throws MP_PARSE for a broken row, MP_IO for a file that cannot be read */
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

/** @throws MP_IO for a file that is not regular or cannot be read, MP_PARSE for an empty file */
export async function inspect(path: string): Promise<Inspected> {
  const sizeBytes = await sizeOfFile(path);
  if (sizeBytes === 0) throw fileError(path, "is empty; write rows into it, or leave it out");
  const head = await readRange(path, 0, Math.min(END_BYTES, sizeBytes));
  const tail = await readRange(path, Math.max(0, sizeBytes - END_BYTES), sizeBytes);
  return {
    path,
    sizeBytes,
    isGzip: head[0] === 0x1f && head[1] === 0x8b,
    signature: `${sizeBytes} ${contentHash(head)} ${contentHash(tail)}`,
  };
}

/** @throws MP_IO for a file that cannot be read, MP_PARSE for one that ends before `end` */
export async function readRange(path: string, start: number, end: number): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(end - start);
  try {
    const file = await open(path, "r");
    try {
      for (let filled = 0; filled < bytes.length; ) {
        const { bytesRead } = await file.read(bytes, filled, bytes.length - filled, start + filled);
        if (bytesRead === 0) throw fileError(path, `ends before byte ${end}; download it again`);
        filled += bytesRead;
      }
    } finally {
      await file.close();
    }
  } catch (error) {
    throw asMpError(path, error);
  }
  return bytes;
}

/** MP_PARSE for a row; `what` ends with the remedy. */
export const rowError = (
  place: RowPlace,
  what: string,
  details: Readonly<Record<string, unknown>> = {},
  cause?: unknown,
): MpError<"MP_PARSE"> =>
  new MpError("MP_PARSE", `${formatPlace(place)}: ${what}`, { details: { ...place, ...details }, cause });
