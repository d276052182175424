import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { MpError } from "@mp/core";
import type { ColumnMetaData, FileMetaData, ParquetParsers } from "hyparquet";
import { fileError, reasonOf } from "../errors.js";
import { loadReader } from "../load-reader.js";
import { readRange } from "../regular-file.js";
import type { RowPlace } from "../row-place.js";
import type { KeepsBig } from "./big-integers.js";
import { decoder } from "./lines.js";
import { checkPages, MOST_GROUP_BYTES, MOST_VALUES, type Unpack, Unread } from "./parquet-pages.js";
import { type Column, readColumns, readFields } from "./parquet-schema.js";
import { FILE_START, type Inspected, type Row, type RowFile } from "./row-file.js";
import { readStruct } from "./thrift.js";

const REMEDY = "download the file again, or write it again with pyarrow or DuckDB";
const MAGIC = "PAR1";
const FILLED = 0xa5;
/** The content of an empty page, such as a dictionary of nulls. The library cannot unpack such a page. */
const NOTHING = new Uint8Array();

type Reader = Awaited<ReturnType<typeof loadParquet>>;

/** Loads the libraries, and for each codec a function that never unpacks more bytes than a page claims. */
async function loadParquet() {
  const packages = "hyparquet hyparquet-compressors";
  return loadReader("readRows: Parquet", packages, async () => {
    const { parquetMetadata, parquetReadObjects, parquetSchema } = await import("hyparquet");
    const { compressors, decompressZstd } = await import("hyparquet-compressors");
    const { SNAPPY, LZ4, LZ4_RAW } = compressors as Required<typeof compressors>;
    const unpackers: Readonly<Record<string, Unpack>> = {
      UNCOMPRESSED: (packed, size) => {
        if (packed.length === size) return packed;
        throw new Error(`a page has ${packed.length} bytes and claims ${size}`);
      },
      SNAPPY,
      LZ4: (packed, size) => (size === 0 ? NOTHING : LZ4(packed, size)),
      LZ4_RAW: (packed, size) => (size === 0 ? NOTHING : LZ4_RAW(packed, size)),
      GZIP: (packed, size) => gunzipSync(packed, { maxOutputLength: size + 1 }),
      BROTLI: (packed, size) => brotliDecompressSync(packed, { maxOutputLength: size + 1 }),
      ZSTD: (packed, size) => {
        const into = (byte: number) => decompressZstd(packed, new Uint8Array(size).fill(byte));
        const page = into(FILLED);
        // If fewer bytes come than the page claims, the last one keeps its fill value.
        if (page.at(-1) === FILLED && into(0).at(-1) !== FILLED) throw new Error("a page is cut short");
        return page;
      },
    };
    return { parquetMetadata, parquetReadObjects, parquetSchema, unpackers };
  });
}

/**
 * Opens an Apache Parquet file; one row group is in memory at a time. Values become those of JSON, timestamps
 * become a Date, and bytes that are not text stay bytes.
 */
export async function openParquet(
  file: Inspected,
  wanted: readonly string[] | undefined,
  keepsBig: KeepsBig,
): Promise<RowFile> {
  if (file.isGzip) throw fileError(file.path, "is gzipped; unpack it with gunzip");
  const reader = await loadParquet();
  const { metadata, columns: all } = await readFooter(file, reader, keepsBig);
  const columns = all.filter(({ name }) => wanted?.includes(name) ?? true);
  return {
    columns: all.map(({ name }) => name),
    async *rows(start) {
      let first = 0;
      for (const [group, { num_rows }] of metadata.row_groups.entries()) {
        const end = first + Number(num_rows);
        const before = Math.min(end, Math.max(first, start.row));
        const rows =
          before < end ? await readGroup(file, reader, { metadata, columns, group, first, end }) : [];
        for (const [at, row] of rows.slice(before - first).entries()) {
          const place = { path: file.path, row: before + at + 1 };
          yield { values: readRow(columns, row, place), place, next: { ...FILE_START, row: place.row } };
        }
        first = end;
      }
    },
  };
}

function readRow(columns: readonly Column[], row: Row, place: RowPlace): Row {
  try {
    return readFields(columns, row, place);
  } catch (cause) {
    // An annotation that does not fit the stored values, such as a time in a text.
    throw asBroken(place.path, `row ${place.row}`, cause);
  }
}

interface Footer {
  readonly metadata: FileMetaData;
  readonly columns: readonly Column[];
}

async function readFooter(
  { path, sizeBytes }: Inspected,
  reader: Reader,
  keepsBig: KeepsBig,
): Promise<Footer> {
  const tail = await readRange(path, Math.max(0, sizeBytes - 8), sizeBytes);
  const text = Buffer.from(tail).toString("latin1");
  const length = tail.length < 8 ? 0 : new DataView(tail.buffer).getUint32(0, true);
  if (text.slice(4) === "PARE") throw fileError(path, "is encrypted; write it without encryption");
  if (sizeBytes < 12 || text.slice(4) !== MAGIC)
    throw fileError(
      path,
      `does not end as a Parquet file does, with ${MAGIC}, and may be cut short; ${REMEDY}`,
    );
  if (length > sizeBytes - 12)
    throw fileError(path, `claims a footer of ${length} bytes and has ${sizeBytes} in all; ${REMEDY}`);
  const footer = await readRange(path, sizeBytes - 8 - length, sizeBytes);
  try {
    readStruct(footer, 0);
    // Hyparquet 1.33 does not end on some damaged footers where it looks for columns of GeoParquet.
    const metadata = reader.parquetMetadata(footer.buffer, { geoparquet: false });
    const counts = metadata.row_groups.map(({ num_rows }) => num_rows);
    const rows = counts.reduce((sum, count) => sum + count, 0n);
    if (counts.some((count) => count < 0n) || rows !== metadata.num_rows) {
      throw new Error(`it claims ${metadata.num_rows} rows and ${rows} in its row groups`);
    }
    const columns = readColumns(metadata, reader.parquetSchema, keepsBig);
    if (columns.length === 0) throw new Error("it has no columns");
    return { metadata, columns };
  } catch (cause) {
    throw asBroken(path, "its footer", cause);
  }
}

interface Group extends Footer {
  readonly group: number;
  readonly first: number;
  readonly end: number;
}

/** Reads and checks the columns of a row group, then decodes it. */
async function readGroup(file: Inspected, reader: Reader, group: Group): Promise<readonly Row[]> {
  const { metadata, columns, first, end } = group;
  try {
    await checkGroup(file, reader, group);
    return await reader.parquetReadObjects({
      file: {
        byteLength: file.sizeBytes,
        slice: (from, to = file.sizeBytes) => {
          const range = readRange(file.path, from, to).then(({ buffer }) => buffer);
          // The decoder reads columns ahead, and stops waiting for them once one has failed.
          range.catch(() => {});
          return range;
        },
      },
      metadata,
      rowStart: first,
      rowEnd: end,
      columns: columns.map(({ element }) => element.name),
      compressors: reader.unpackers,
      parsers,
      utf8: false,
    });
  } catch (cause) {
    throw asBroken(file.path, `row group ${group.group + 1}, rows ${first + 1} to ${end},`, cause);
  }
}

/** Makes a Date, which has milliseconds; finer digits are cut off. */
function toDate(milliseconds: number): Date {
  const date = new Date(milliseconds);
  if (!Number.isNaN(date.getTime())) return date;
  throw new Unread("a date is beyond the years that a Date has", "leave its column out, or write it as text");
}

const cutOff = (value: bigint, by: bigint): number => Number((value - (((value % by) + by) % by)) / by);

const parsers: Partial<ParquetParsers> = {
  stringFromBytes: (bytes) => bytes && decoder.decode(bytes),
  dateFromDays: (days) => toDate(days * 86_400_000),
  timestampFromMilliseconds: (value) => toDate(Number(value)),
  timestampFromMicroseconds: (value) => toDate(cutOff(value, 1000n)),
  timestampFromNanoseconds: (value) => toDate(cutOff(value, 1_000_000n)),
};

async function checkGroup(
  { path, sizeBytes }: Inspected,
  { unpackers }: Reader,
  { metadata, columns, group }: Group,
): Promise<void> {
  const { columns: chunks = [], num_rows } = metadata.row_groups[group] ?? {};
  let [unread, values] = [MOST_GROUP_BYTES, 0];
  for (const { name, index, ...leaf } of columns.flatMap(({ leaves }) => leaves)) {
    const meta = chunks[index]?.meta_data as ColumnMetaData;
    values += Number(meta.num_values);
    // A column has a value or a null for each row, and for a list perhaps several.
    if (meta.num_values < (num_rows ?? 0n) || (leaf.repetition === 0 && meta.num_values !== num_rows)) {
      throw new Error(`column ${name} claims ${meta.num_values} values for ${num_rows} rows`);
    }
    if (values > MOST_VALUES) {
      const remedy = "name fewer columns, or write smaller row groups";
      throw fileError(path, `row group ${group + 1} claims more than ${MOST_VALUES} values; ${remedy}`);
    }
    const unpack = unpackers[meta.codec];
    if (unpack === undefined)
      throw new Unread(`column ${name} is packed by ${meta.codec}, which is not read`, "pack it by zstd");
    const bytes = await readRange(path, ...chunkRange(meta, name, sizeBytes));
    try {
      const { type, num_values: count } = meta;
      unread -= checkPages({ ...leaf, bytes, type, values: Number(count), unpack }, unread);
    } catch (cause) {
      const message = `column ${name}: ${reasonOf(cause)}`;
      throw cause instanceof Unread ? new Unread(message, cause.remedy) : new Error(message, { cause });
    }
  }
}

/** The range of bytes that the decoder reads for a column. */
function chunkRange(meta: ColumnMetaData, name: string, sizeBytes: number): [number, number] {
  const start = Number(meta.dictionary_page_offset || meta.data_page_offset);
  const end = start + Number(meta.total_compressed_size);
  if (start >= MAGIC.length && end >= start && end <= sizeBytes) return [start, end];
  throw new Error(`column ${name} claims bytes ${start} to ${end} of ${sizeBytes}`);
}

function asBroken(path: string, what: string, cause: unknown): MpError {
  if (MpError.is(cause)) return cause;
  const remedy = cause instanceof Unread ? cause.remedy : REMEDY;
  return fileError(path, `${what} cannot be decoded, ${reasonOf(cause)}; ${remedy}`, {}, cause);
}
