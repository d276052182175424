/**
 * Pages of a Parquet column, checked before they are decoded: the decoder believes their counts, and would fill the
 * memory with a run that claims two billion values.
 */
import { crc32 } from "node:zlib";
import { readStruct, type ThriftStruct } from "./thrift.js";

/** Values of a row group, and bytes that they unpack to: beyond these it is not decoded. */
export const MOST_VALUES: number = 2 ** 26;
export const MOST_GROUP_BYTES: number = 2 ** 30;

export type Unpack = (packed: Uint8Array, sizeBytes: number) => Uint8Array;

export interface ColumnChunk {
  readonly bytes: Uint8Array;
  /** The physical type, such as `BYTE_ARRAY`. */
  readonly type: string;
  readonly values: number;
  /** Deepest levels of definition and of repetition. */
  readonly definition: number;
  readonly repetition: number;
  readonly unpack: Unpack;
}

type PageType = "data" | "dictionary" | "data v2";
const PAGE_TYPES: Readonly<Record<number, PageType>> = { 0: "data", 2: "dictionary", 3: "data v2" };

type Encoding = "plain" | "indices" | "runs" | "split";
/** How values may be encoded. The others are rare, and a few bytes of them can stand for terabytes. */
const ENCODINGS: Readonly<Record<number, Encoding>> = {
  0: "plain",
  2: "indices",
  3: "runs",
  5: "plain",
  6: "plain",
  8: "indices",
  9: "split",
};
/** Types whose values may have each encoding. */
const TYPES: Readonly<Record<Encoding, RegExp>> = {
  plain: /./,
  indices: /^(?!BOOLEAN)/,
  runs: /^BOOLEAN$/,
  split: /^(INT32|INT64|FLOAT|DOUBLE)$/,
};

/**
 * @returns the number of bytes that its pages unpack to
 * @throws Error for pages that contradict themselves, the chunk or the limits
 */
export function checkPages(chunk: ColumnChunk, mostBytes: number): number {
  const { bytes, values } = chunk;
  let [seen, unpacked] = [0, 0];
  // As the decoder, which takes a last byte for padding.
  for (let at = 0; at < bytes.length - 1; ) {
    const { struct, end } = readStruct(bytes, at);
    const sizeBytes = countOf(struct, 2);
    const packed = countOf(struct, 3);
    const type = PAGE_TYPES[countOf(struct, 1)];
    if (type === undefined) throw new Error(`a page has the unknown type ${struct[1]}`);
    if (packed > bytes.length - end) throw new Error(`a page claims ${packed} bytes beyond its column`);
    unpacked += sizeBytes;
    if (unpacked > mostBytes) throw new Error(`its pages claim to unpack to more than ${mostBytes} bytes`);
    const page = bytes.subarray(end, end + packed);
    const checksum = struct[4];
    if (typeof checksum === "number" && crc32(page) !== checksum >>> 0)
      throw new Error("a page has other bytes than its checksum says");
    seen += pageChecks[type](chunk, page, sizeBytes, struct);
    if (seen > values) throw new Error(`its pages claim ${seen} values and its footer ${values}`);
    at = end + packed;
  }
  if (seen !== values) throw new Error(`its pages have ${seen} values and its footer claims ${values}`);
  return unpacked;
}

/** Checks a page, and gives the number of values that count for the column. */
type PageCheck = (chunk: ColumnChunk, page: Uint8Array, sizeBytes: number, header: ThriftStruct) => number;

const pageChecks: Readonly<Record<PageType, PageCheck>> = {
  dictionary: (_, __, sizeBytes, header) => {
    const values = countOf(structOf(header, 7), 1);
    // A boolean takes a bit.
    if (values > 8 * sizeBytes) throw new Error(`a dictionary claims ${values} values in ${sizeBytes} bytes`);
    return 0;
  },
  data: ({ type, definition, repetition, unpack, values: most }, packed, sizeBytes, header) => {
    const head = structOf(header, 5);
    const values = countOf(head, 1);
    if (values > most) throw new Error(`a page claims ${values} values and its footer ${most}`);
    const page = unpack(packed, sizeBytes);
    let at = 0;
    for (const depth of [repetition, definition]) {
      if (depth > 0) at = checkLevels(page, at, bitsOf(depth), values);
    }
    checkValues(type, page.subarray(at), countOf(head, 2), values);
    return values;
  },
  "data v2": ({ type, definition, repetition, unpack, values: most }, packed, sizeBytes, header) => {
    const head = structOf(header, 8);
    const values = countOf(head, 1);
    const nulls = countOf(head, 2);
    const repeated = countOf(head, 6);
    const levels = repeated + countOf(head, 5);
    if (values > most || nulls > values) throw new Error(`a page claims ${values} values, ${nulls} null`);
    if (levels > packed.length || levels > sizeBytes)
      throw new Error(`a page claims ${levels} bytes of levels`);
    if (repetition > 0) checkAllRuns(packed.subarray(0, repeated), bitsOf(repetition), values);
    if (definition > 0) checkAllRuns(packed.subarray(repeated, levels), bitsOf(definition), values);
    const rest = packed.subarray(levels);
    const page = head[7] === false || sizeBytes === levels ? rest : unpack(rest, sizeBytes - levels);
    checkValues(type, page, countOf(head, 4), values);
    return values;
  },
};

function checkValues(type: string, page: Uint8Array, code: number, values: number): void {
  const encoding = ENCODINGS[code];
  if (encoding === undefined || !TYPES[encoding].test(type))
    throw new Error(`values of ${type} have encoding ${code}, which is not read: write them plain`);
  // Without a value there is no width either.
  if (encoding === "indices" && page.length > 0) checkRuns(page.subarray(1), page[0] ?? 0, values);
  // The decoder goes on beyond the length in front of them.
  if (encoding === "runs") checkRuns(page.subarray(4), 1, values);
}

/** Levels with their length in front. @returns the place after them */
function checkLevels(page: Uint8Array, at: number, width: number, values: number): number {
  if (page.length - at < 4) throw new Error("a page ends within its levels");
  const length = new DataView(page.buffer, page.byteOffset + at).getUint32(0, true);
  const end = at + 4 + length;
  if (end > page.length) throw new Error(`a page claims ${length} bytes of levels`);
  checkAllRuns(page.subarray(at + 4, end), width, values);
  return end;
}

/** Runs that the decoder would go on reading after their end if there were fewer values. */
function checkAllRuns(bytes: Uint8Array, width: number, values: number): void {
  const seen = checkRuns(bytes, width, values);
  if (seen < values) throw new Error(`a page has levels of ${seen} values and claims ${values}`);
}

/**
 * Runs of the hybrid of run lengths and packed bits: no more than `values`, but for what fills up the last eight.
 * @returns the number of values
 */
function checkRuns(bytes: Uint8Array, width: number, values: number): number {
  if (width > 32) throw new Error(`a page has indices of ${width} bits`);
  let seen = 0;
  for (let at = 0; at < bytes.length && seen < values; ) {
    let header = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[at++] ?? 0;
      header += (byte & 127) * scale;
      if (byte < 128) break;
    }
    const isPacked = header % 2 === 1;
    const count = isPacked ? 8 * ((header - 1) / 2) : header / 2;
    at += isPacked ? (count / 8) * width : Math.ceil(width / 8);
    seen += count;
    if (seen > values + (isPacked ? 7 : 0)) throw new Error(`a run claims ${count} values of ${values}`);
  }
  return seen;
}

const bitsOf = (level: number): number => 32 - Math.clz32(level);

function countOf(struct: ThriftStruct, field: number): number {
  const value = struct[field];
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0 && value < 2 ** 31) return value;
  throw new Error(`a page's header has ${value} in field ${field}`);
}

function structOf(struct: ThriftStruct, field: number): ThriftStruct {
  const value = struct[field];
  if (typeof value === "object") return value;
  throw new Error(`a page's header lacks field ${field}`);
}
