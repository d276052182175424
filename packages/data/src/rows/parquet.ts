import { TextDecoder } from "node:util";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { MpError } from "@mp/core";
import type { ColumnMetaData, FileMetaData, SchemaTree } from "hyparquet";
import { fileError } from "../errors.js";
import { loadReader } from "../load-reader.js";
import type { RowPlace } from "../row-place.js";
import { type ColumnChunk, checkPages, MOST_GROUP_BYTES, MOST_VALUES, type Unpack } from "./parquet-pages.js";
import { type Inspected, type ReadRow, type Row, type RowFile, readRange, rowError } from "./row-file.js";
import { readStruct } from "./thrift.js";

const MAGIC = "PAR1";
const FILLED = 0xa5;
const REMEDY = "download the file again, or write it again with pyarrow or DuckDB";

type Reader = Awaited<ReturnType<typeof loadParquet>>;

/** Loads the libraries, and for each codec a function that never unpacks more bytes than a page claims. */
async function loadParquet() {
  const packages = "hyparquet hyparquet-compressors";
  return loadReader("readRows: Parquet", packages, async () => {
    const { parquetMetadata, parquetReadObjects, parquetSchema } = await import("hyparquet");
    const { compressors, decompressZstd } = await import("hyparquet-compressors");
    const { SNAPPY, LZ4, LZ4_RAW } = compressors;
    const unpackers: Readonly<Record<string, Unpack | undefined>> = {
      SNAPPY,
      LZ4,
      LZ4_RAW,
      GZIP: (packed, size) => gunzipSync(packed, { maxOutputLength: size + 1 }),
      BROTLI: (packed, size) => brotliDecompressSync(packed, { maxOutputLength: size + 1 }),
      ZSTD: (packed, size) => {
        const into = (byte: number) => decompressZstd(packed, new Uint8Array(size).fill(byte));
        const page = into(FILLED);
        // Where there are fewer bytes than claimed, the last one is what was there before.
        if (page.at(-1) === FILLED && into(0).at(-1) !== FILLED) throw new Error("a page is cut short");
        return page;
      },
    };
    return { parquetMetadata, parquetReadObjects, parquetSchema, unpackers };
  });
}

/**
 * Opens an Apache Parquet file; one row group is in memory at a time. 64-bit integers become numbers, bytes that are
 * not text stay bytes, times become dates.
 */
export async function openParquet(file: Inspected, wanted: readonly string[] | undefined): Promise<RowFile> {
  const reader = await loadParquet();
  const footer = await readFooter(file, reader);
  const leaves = footer.leaves.filter(({ path: [column = ""] }) => wanted?.includes(column) ?? true);
  return {
    columns: footer.columns,
    async *rows(start) {
      let first = 0;
      for (const [group, { num_rows }] of footer.metadata.row_groups.entries()) {
        const end = first + Number(num_rows);
        if (end > start.row) {
          const rows = await readGroup(file, reader, { ...footer, leaves, wanted, group, first, end });
          yield* placeRows(file, rows.slice(Math.max(0, start.row - first)), Math.max(first, start.row));
        }
        first = end;
      }
    },
  };
}

function* placeRows({ path }: Inspected, rows: readonly Row[], first: number): Generator<ReadRow, undefined> {
  for (const [at, row] of rows.entries()) {
    const place = { path, row: first + at + 1 };
    const values = plain(row, place, "") as Row;
    yield { values, place, next: { row: place.row, byte: 0, line: 0 } };
  }
}

interface Footer {
  readonly metadata: FileMetaData;
  readonly columns: readonly string[];
  readonly leaves: readonly Leaf[];
}

async function readFooter({ path, sizeBytes }: Inspected, reader: Reader): Promise<Footer> {
  const tail = await readRange(path, Math.max(0, sizeBytes - 8), sizeBytes);
  const text = Buffer.from(tail).toString("latin1");
  const length = tail.length < 8 ? 0 : new DataView(tail.buffer).getUint32(0, true);
  if (sizeBytes < 12 || text.slice(4) !== MAGIC) {
    throw fileError(
      path,
      `does not end as a Parquet file does, with ${MAGIC}, and may be cut short; ${REMEDY}`,
    );
  }
  if (length > sizeBytes - 12) {
    throw fileError(path, `claims a footer of ${length} bytes and has ${sizeBytes} in all; ${REMEDY}`);
  }
  const footer = await readRange(path, sizeBytes - 8 - length, sizeBytes);
  try {
    readStruct(footer, 0);
    const metadata = reader.parquetMetadata(footer.buffer);
    const counts = metadata.row_groups.map(({ num_rows }) => num_rows);
    const rows = counts.reduce((sum, count) => sum + count, 0n);
    if (counts.some((count) => count < 0n) || rows !== metadata.num_rows) {
      throw new Error(`it claims ${metadata.num_rows} rows and ${rows} in its row groups`);
    }
    const schema = reader.parquetSchema(metadata);
    const leaves = schemaLeaves(schema, { definition: 0, repetition: 0 });
    if (leaves.length === 0) throw new Error("it has no columns");
    return { metadata, columns: schema.children.map(({ element }) => element.name), leaves };
  } catch (cause) {
    throw asBroken(path, "its footer", cause);
  }
}

interface Group extends Pick<Footer, "metadata" | "leaves"> {
  readonly group: number;
  readonly first: number;
  readonly end: number;
  readonly wanted: readonly string[] | undefined;
}

/** Reads and checks the columns of a row group, then decodes it. */
async function readGroup(file: Inspected, reader: Reader, group: Group): Promise<readonly Row[]> {
  const { metadata, first, end, wanted } = group;
  try {
    await checkGroup(file, reader, group);
    return await reader.parquetReadObjects({
      file: {
        byteLength: file.sizeBytes,
        slice: (from, to = file.sizeBytes) => {
          const range = readRange(file.path, from, to).then(({ buffer }) => buffer);
          // The decoder reads ahead what it does not wait for once a column has failed.
          range.catch(() => {});
          return range;
        },
      },
      metadata,
      rowStart: first,
      rowEnd: end,
      ...(wanted === undefined ? {} : { columns: [...wanted] }),
      compressors: reader.unpackers as Readonly<Record<string, Unpack>>,
      parsers: { stringFromBytes: (bytes) => bytes && decoder.decode(bytes) },
      utf8: false,
    });
  } catch (cause) {
    throw asBroken(file.path, `row group ${group.group + 1}, rows ${first + 1} to ${end},`, cause);
  }
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

async function checkGroup(
  { path, sizeBytes }: Inspected,
  { unpackers }: Reader,
  { metadata, leaves, group }: Group,
): Promise<void> {
  const { columns = [], num_rows } = metadata.row_groups[group] ?? {};
  let [unread, values] = [MOST_GROUP_BYTES, 0];
  for (const leaf of leaves) {
    const name = leaf.path.join(".");
    const found = columns.filter(({ meta_data }) => meta_data?.path_in_schema.join(".") === name);
    const [{ meta_data: meta } = {}] = found;
    if (meta === undefined || found.length > 1)
      throw new Error(`column ${name} is there ${found.length} times`);
    values += Number(meta.num_values);
    // A row has a value or a null in each column, and in a list maybe more.
    if (meta.num_values < (num_rows ?? 0n) || (leaf.repetition === 0 && meta.num_values !== num_rows)) {
      throw new Error(`column ${name} claims ${meta.num_values} values for ${num_rows} rows`);
    }
    if (values > MOST_VALUES) {
      const remedy = "name fewer columns, or write smaller row groups";
      throw fileError(path, `row group ${group + 1} claims more than ${MOST_VALUES} values; ${remedy}`);
    }
    const unpack = meta.codec === "UNCOMPRESSED" ? asIs : unpackers[meta.codec];
    if (unpack === undefined) throw new Error(`column ${name} is packed by ${meta.codec}, which is not read`);
    const bytes = await readRange(path, ...chunkRange(meta, name, sizeBytes));
    try {
      const chunk: ColumnChunk = { ...leaf, bytes, type: meta.type, values: Number(meta.num_values), unpack };
      unread -= checkPages(chunk, unread);
    } catch (cause) {
      throw new Error(`column ${name}: ${errorMessage(cause)}`, { cause });
    }
  }
}

const asIs: Unpack = (packed, size) => {
  if (packed.length !== size) throw new Error(`a page has ${packed.length} bytes and claims ${size}`);
  return packed;
};

/** The range of bytes that the decoder reads for a column. */
function chunkRange(meta: ColumnMetaData, name: string, sizeBytes: number): [number, number] {
  const start = Number(meta.dictionary_page_offset || meta.data_page_offset);
  const end = start + Number(meta.total_compressed_size);
  if (start >= MAGIC.length && end >= start && end <= sizeBytes) return [start, end];
  throw new Error(`column ${name} claims bytes ${start} to ${end} of ${sizeBytes}`);
}

type Levels = Pick<ColumnChunk, "definition" | "repetition">;
type Leaf = Levels & { readonly path: readonly string[] };

function schemaLeaves(tree: SchemaTree, outer: Levels): readonly Leaf[] {
  return tree.children.flatMap((child) => {
    const kind = child.element.repetition_type;
    const levels = {
      definition: outer.definition + Number(kind !== "REQUIRED"),
      repetition: outer.repetition + Number(kind === "REPEATED"),
    };
    return child.children.length > 0 ? schemaLeaves(child, levels) : [{ ...levels, path: child.path }];
  });
}

/** Converts values to those of JSON, except for dates and bytes; 64-bit integers become numbers. */
function plain(value: unknown, place: RowPlace, name: string): unknown {
  if (typeof value === "bigint") {
    const number = Number(value);
    if (Number.isSafeInteger(number)) return number;
    const remedy = "write it as text, or leave the column out with the option columns";
    throw rowError(place, `column ${name} has ${value}, which no number holds exactly; ${remedy}`);
  }
  if (value === undefined) throw rowError(place, `column ${name} has no value; ${REMEDY}`);
  if (Array.isArray(value)) return value.map((part) => plain(part, place, name));
  if (typeof value !== "object" || value === null || value instanceof Date || ArrayBuffer.isView(value))
    return value;
  const parts = Object.entries(value);
  return Object.fromEntries(
    parts.map(([key, part]) => [key, plain(part, place, name === "" ? key : `${name}.${key}`)]),
  );
}

const errorMessage = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));

const asBroken = (path: string, what: string, cause: unknown): MpError =>
  MpError.is(cause)
    ? cause
    : fileError(path, `${what} cannot be decoded, ${errorMessage(cause)}; ${REMEDY}`, {}, cause);
