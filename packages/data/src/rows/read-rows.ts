import type { Json } from "@mp/core/fit";
import { batchingChecks } from "../batching.js";
import * as check from "../check-arguments.js";
import { cursorFields, isCount, noCursor } from "../cursor-fields.js";
import { type Dataset, toDataset, withCursor } from "../dataset.js";
import { datasetSignature } from "../dataset-signature.js";
import { invalid } from "../errors.js";
import { permutation, randomStream } from "../random.js";
import { setPlace } from "../row-place.js";
import type { KeepsBig } from "./big-integers.js";
import { checkColumns, checkFile, conform, type RowColumns, type RowOf } from "./columns.js";
import { openCsv } from "./csv.js";
import { readJsonl } from "./jsonl.js";
import { openParquet } from "./parquet.js";
import { FILE_START, inspect, type RowFile, type RowStart } from "./row-file.js";

type Format = "jsonl" | "csv" | "parquet";

export interface ReadRowsOptions {
  /**
   * The columns of the rows with their types: `string`, `number`, `bigint`, `boolean`, `chat`, `list`, `object`, or one
   * of these with `?` if values may be null. Every row is checked, and no other column of Parquet is read. By default
   * rows have all columns, unchecked; those of CSV are strings.
   */
  readonly columns?: RowColumns;
  /** Default by extension: `.jsonl` or `.ndjson`, `.csv` or `.tsv`, each also with `.gz`, or `.parquet`. */
  readonly format?: Format;
  /**
   * Whether whole numbers beyond ±(2^53 - 1) become BigInt, at any depth. Default false: they are refused, except in
   * columns of the type `bigint`, whose values all are BigInt.
   */
  readonly bigIntegers?: boolean;
  /** Texts of CSV fields that are null, like an empty one, where a column's type has a question mark. Default none. */
  readonly nullValues?: readonly string[];
  /** The separator of CSV fields; default a comma, for `.tsv` a tab. */
  readonly delimiter?: string;
  /** Draws an order of the files for each pass from this seed; default: the given order. */
  readonly shuffle?: { readonly seed: number };
}

const isDelimiter = (value: unknown): boolean => typeof value === "string" && /^[^"\r\n]$/.test(value);
const checkOptions = check.optionsCheck<ReadRowsOptions>(
  {
    columns: check.optional(checkColumns),
    format: check.optional(check.oneOf("jsonl", "csv", "parquet")),
    delimiter: check.optional(check.claim("one character, no quote", isDelimiter)),
    bigIntegers: check.optional(check.truth),
    nullValues: check.optional(check.listOf("texts", (value) => typeof value === "string")),
    shuffle: batchingChecks.shuffle,
  },
  '{ columns: { prompt: "string" } }',
);
const checkPaths = check.claim(
  "a list of paths, not empty",
  (value) => Array.isArray(value) && value.length > 0,
);

/**
 * Streams the rows of files, one file after the other, as plain objects: a dataset to map, shuffle and make batches
 * of. It holds one row of JSONL and CSV in memory, or one row group of Parquet. A cursor leads back to the row: by
 * seeking in JSONL and CSV (from the beginning if they are gzipped), or by decoding the row group again.
 * @throws MP_INVALID_ARGUMENT for invalid options and unknown extensions, MP_BACKEND_UNAVAILABLE without the format's
 *   reader (`csv-parse`; `hyparquet` and `hyparquet-compressors`), MP_IO for a file that cannot be read or is not
 *   regular, MP_PARSE for a file that is empty, cut short or lacks a column, and during a pass for a broken row
 */
export async function readRows<const C extends RowColumns | undefined = undefined>(
  paths: string | readonly string[],
  options: ReadRowsOptions & { readonly columns?: C } = {},
): Promise<Dataset<RowOf<C>>> {
  const list = typeof paths === "string" ? [paths] : paths;
  checkPaths("readRows: paths", list);
  checkOptions("readRows", options);
  const { columns, shuffle, bigIntegers, nullValues } = options;
  const files: RowSource[] = [];
  for (const path of list) {
    check.path("readRows: path", path);
    files.push(await openRows(path, options));
  }
  const signature = datasetSignature("rows", {
    files: files.map(({ signature }) => signature),
    columns,
    seed: shuffle?.seed,
    bigIntegers,
    nullValues,
  });
  return toDataset((cursor, firstPass = 0) => {
    const start = { pass: firstPass, file: 0, ...FILE_START };
    let place = cursor === undefined ? start : parseCursor(cursor, signature, list);
    const { pass } = place;
    const order = shuffle && permutation(files.length, randomStream(shuffle.seed, pass));
    async function* run(): AsyncGenerator<RowOf<C>, undefined> {
      for (; place.file < files.length; place = { pass, file: place.file + 1, ...FILE_START }) {
        const { file } = place;
        const { rows, nulls } = files[order?.[file] ?? file] as RowSource;
        for await (const read of rows(place)) {
          const row = columns === undefined ? read.values : conform(read.values, columns, read.place, nulls);
          setPlace(row, read.place);
          place = { pass, file, ...read.next };
          yield row as RowOf<C>;
        }
      }
    }
    return withCursor(run(), () => ({ version: 1, data: signature, ...place }));
  });
}

/** A position between rows; `file` is the index of the file in the pass's order of files. */
interface FilePlace extends RowStart {
  readonly pass: number;
  readonly file: number;
}

function parseCursor(cursor: Json, signature: string, files: readonly string[]): FilePlace {
  const { pass, file, row, byte, line } = cursorFields(cursor, signature, files.join(", "));
  const place = { pass, file, row, byte, line };
  if (Object.values(place).every(isCount) && Number(file) <= files.length) return place as FilePlace;
  throw noCursor(cursor);
}

interface RowSource extends RowFile {
  readonly signature: string;
  /** The texts that may stand for null. Only CSV has them, because all its values are texts. */
  readonly nulls: readonly string[] | undefined;
}

const EXTENSIONS: Readonly<Record<string, Format>> = {
  jsonl: "jsonl",
  ndjson: "jsonl",
  csv: "csv",
  tsv: "csv",
  parquet: "parquet",
};

async function openRows(path: string, options: ReadRowsOptions): Promise<RowSource> {
  const extension = /\.(\w+)(\.gz)?$/.exec(path.toLowerCase())?.[1] ?? "";
  const { columns, delimiter = extension === "tsv" ? "\t" : ",", format = EXTENSIONS[extension] } = options;
  if (format === undefined)
    throw invalid(
      `readRows: ${path} has the extension of no format of rows, which are ${Object.keys(EXTENSIONS).join(", ")}; pass format: "jsonl", "csv" or "parquet"`,
      { path },
    );
  const inspected = await inspect(path);
  // Of a column that nobody reads, any number may stay as it is.
  const keepsBig: KeepsBig = (column) =>
    options.bigIntegers === true ||
    (columns !== undefined &&
      (!Object.hasOwn(columns, column) || columns[column]?.startsWith("bigint") === true));
  const openers: Readonly<Record<Format, () => RowFile | Promise<RowFile>>> = {
    jsonl: () => ({ columns: undefined, rows: (start) => readJsonl(inspected, start, keepsBig) }),
    csv: () => openCsv(inspected, delimiter),
    parquet: () => openParquet(inspected, columns && Object.keys(columns), keepsBig),
  };
  const file = await openers[format]();
  const isText = format === "csv";
  if (columns !== undefined) checkFile(path, columns, file.columns, isText);
  return {
    ...file,
    nulls: isText ? ["", ...(options.nullValues ?? [])] : undefined,
    signature: `${format} ${isText ? JSON.stringify(delimiter) : ""} ${inspected.signature}`,
  };
}
