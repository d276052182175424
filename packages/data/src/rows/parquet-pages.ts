/**
 * Checks the pages of a Parquet column before they are decoded: the decoder trusts their counts, and a run that
 * claims two billion values would fill the memory.
 */
import { crc32 } from "node:zlib";
import { readStruct, type ThriftStruct } from "./thrift.js";

/** Largest number of values of a row group and of unpacked bytes; larger groups are refused. */
export const MOST_VALUES: number = 2 ** 26;
export const MOST_GROUP_BYTES: number = 2 ** 30;

export type Unpack = (packed: Uint8Array, sizeBytes: number) => Uint8Array;

export interface ColumnChunk {
  readonly bytes: Uint8Array;
  /** The physical type, such as `BYTE_ARRAY`. */
  readonly type: string;
  readonly values: number;
  /** The deepest levels of definition and repetition. */
  readonly definition: number;
  readonly repetition: number;
  readonly unpack: Unpack;
}

/** An encoding of values in pages. */
interface Encoding {
  readonly types: RegExp;
  /** Finds the start and bit width of the runs in a page. */
  readonly runs?: (page: Uint8Array) => readonly [start: number, width: number];
}

const plain: Encoding = { types: /./ };
const indices: Encoding = { types: /^(?!BOOLEAN)/, runs: ([width = 0]) => [1, width] };
/** The encodings that are read. Others are rare, and a few of their bytes can stand for terabytes. */
const ENCODINGS: Readonly<Record<number, Encoding>> = {
  0: plain,
  2: indices,
  // The decoder goes on beyond the length in front of them.
  3: { types: /^BOOLEAN$/, runs: () => [4, 1] },
  5: plain,
  6: plain,
  8: indices,
  9: { types: /^(INT32|INT64|FLOAT|DOUBLE)$/ },
};

/**
 * @returns the total size of the unpacked pages
 * @throws Error for pages that contradict themselves, the chunk or the limits
 */
export function checkPages(chunk: ColumnChunk, mostBytes: number): number {
  const { bytes, values } = chunk;
  let [seen, unpacked] = [0, 0];
  // As the decoder, which takes a last byte for padding.
  for (let at = 0; at < bytes.length - 1; ) {
    const { struct, end } = readStruct(bytes, at);
    const [number, sizeBytes, packed] = [readCount(struct, 1), readCount(struct, 2), readCount(struct, 3)];
    if (packed > bytes.length - end) throw new Error(`a page claims ${packed} bytes beyond its column`);
    unpacked += sizeBytes;
    if (unpacked > mostBytes) throw new Error(`its pages claim to unpack to more than ${mostBytes} bytes`);
    const content = bytes.subarray(end, end + packed);
    const checksum = struct[4];
    if (typeof checksum === "number" && crc32(content) !== checksum >>> 0)
      throw new Error("a page has other bytes than its checksum says");
    const { field, check, isDictionary = false } = PAGES[number] ?? {};
    const head = struct[field ?? 0];
    if (check === undefined || typeof head !== "object")
      throw new Error(`a page has the wrong type ${number}`);
    const count = readCount(head, 1);
    if (!isDictionary) seen += count;
    if (seen > values) throw new Error(`its pages claim ${seen} values and its footer ${values}`);
    check(chunk, { content, sizeBytes, head, count });
    at = end + packed;
  }
  if (seen !== values) throw new Error(`its pages have ${seen} values and its footer claims ${values}`);
  return unpacked;
}

interface Page {
  /** The content as in the file, perhaps compressed. */
  readonly content: Uint8Array;
  readonly sizeBytes: number;
  /** The part of the page's header that is specific to its type. */
  readonly head: ThriftStruct;
  readonly count: number;
}

interface PageType {
  readonly field: number;
  readonly isDictionary?: boolean;
  readonly check: (chunk: ColumnChunk, page: Page) => void;
}

const PAGES: Readonly<Record<number, PageType | undefined>> = {
  0: {
    field: 5,
    check: ({ type, definition, repetition, unpack }, { content, sizeBytes, head, count }) => {
      const page = unpack(content, sizeBytes);
      const view = new DataView(page.buffer, page.byteOffset, page.byteLength);
      let at = 0;
      for (const depth of [repetition, definition].filter((depth) => depth > 0)) {
        const start = at + 4;
        at = start + view.getUint32(at, true);
        checkLevels(page.subarray(start, at), depth, count);
      }
      checkValues(type, page.subarray(at), readCount(head, 2), count);
    },
  },
  2: {
    field: 7,
    isDictionary: true,
    check: (_, { sizeBytes, count }) => {
      // A boolean takes a bit.
      if (count > 8 * sizeBytes) throw new Error(`a dictionary claims ${count} values in ${sizeBytes} bytes`);
    },
  },
  /** Version 2 of data pages, whose levels are not compressed. */
  3: {
    field: 8,
    check: ({ type, definition, repetition, unpack }, { content, sizeBytes, head, count }) => {
      const [nulls, repeated] = [readCount(head, 2), readCount(head, 6)];
      const levels = repeated + readCount(head, 5);
      // Without levels the decoder takes their bytes for values.
      if (nulls > count || levels > sizeBytes || (definition === 0 && levels > repeated))
        throw new Error(`a page of ${count} values claims ${nulls} nulls and ${levels} bytes of levels`);
      if (repetition > 0) checkLevels(content.subarray(0, repeated), repetition, count);
      if (definition > 0) checkLevels(content.subarray(repeated, levels), definition, count);
      const rest = content.subarray(levels);
      const page = head[7] === false || sizeBytes === levels ? rest : unpack(rest, sizeBytes - levels);
      checkValues(type, page, readCount(head, 4), count);
    },
  },
};

function checkValues(type: string, page: Uint8Array, code: number, values: number): void {
  const { types, runs } = ENCODINGS[code] ?? {};
  if (types?.test(type) !== true)
    throw new Error(`values of ${type} have encoding ${code}, which is not read: write them plain`);
  if (runs === undefined) return;
  const [start, width] = runs(page);
  checkRuns(page.subarray(start), width, values);
}

/** Checks that levels have runs for all values; otherwise the decoder would read on after their end. */
function checkLevels(bytes: Uint8Array, deepest: number, values: number): void {
  const seen = checkRuns(bytes, 32 - Math.clz32(deepest), values);
  if (seen < values) throw new Error(`a page has levels of ${seen} values and claims ${values}`);
}

/**
 * Checks runs in the hybrid of run lengths and bit packing: at most `values`, up to the padding of the last eight.
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

function readCount(struct: ThriftStruct, field: number): number {
  const value = struct[field];
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0 && value < 2 ** 31) return value;
  throw new Error(`a page's header has ${value} in field ${field}`);
}
