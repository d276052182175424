/**
 * Checks the pages of a Parquet column before they are decoded: the decoder trusts their counts, and a run that
 * claims two billion values would fill the memory.
 */
import { crc32 } from "node:zlib";
import { readStruct, readVarint, type ThriftStruct } from "./thrift.js";

/** Largest number of values that are read from a row group. */
export const MOST_VALUES: number = 2 ** 26;
/** Largest number of unpacked bytes that are read from a row group. */
export const MOST_GROUP_BYTES: number = 2 ** 30;

/** Thrown at a valid but unsupported part of a file, with the remedy. */
export class Unread extends Error {
  readonly remedy: string;

  constructor(what: string, remedy: string) {
    super(what);
    this.remedy = remedy;
  }
}

export type Unpack = (packed: Uint8Array, sizeBytes: number) => Uint8Array;

export interface ColumnChunk {
  readonly bytes: Uint8Array;
  /** The physical type, such as `BYTE_ARRAY`. */
  readonly type: string;
  readonly values: number;
  /** The largest definition level of the column; `repetition` is the largest repetition level. */
  readonly definition: number;
  readonly repetition: number;
  /** The number of bytes of a value, if all have the same. */
  readonly width: number;
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
/** Supported encodings, by Parquet's code. Others are rare, and a few of their bytes can claim terabytes. */
const ENCODINGS: Readonly<Record<number, Encoding>> = {
  0: plain,
  2: indices,
  // The runs follow a length of four bytes, at which the decoder does not stop.
  3: { types: /^BOOLEAN$/, runs: () => [4, 1] },
  5: plain,
  6: plain,
  8: indices,
  9: { types: /^(?!BOOLEAN|INT96|BYTE_ARRAY)/ },
};

/**
 * @returns the total size of the unpacked pages
 * @throws Error for pages that contradict themselves, the chunk or the limits
 */
export function checkPages(chunk: ColumnChunk, mostBytes: number): number {
  const { bytes, values } = chunk;
  let [seen, unpacked] = [0, 0];
  // Like the decoder, takes a single last byte for padding.
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
    check: (chunk, { content, sizeBytes, head, count }) => {
      const { definition, repetition, unpack } = chunk;
      const page = unpack(content, sizeBytes);
      const view = new DataView(page.buffer, page.byteOffset, page.byteLength);
      let at = 0;
      for (const depth of [repetition, definition].filter((depth) => depth > 0)) {
        const start = at + 4;
        at = start + view.getUint32(at, true);
        checkLevels(page.subarray(start, at), depth, count);
      }
      checkValues(chunk, page.subarray(at), readCount(head, 2), count);
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
    check: (chunk, { content, sizeBytes, head, count }) => {
      const { definition, repetition, unpack } = chunk;
      const [nulls, repeated] = [readCount(head, 2), readCount(head, 6)];
      const levels = repeated + readCount(head, 5);
      // In a column without levels, the decoder would read bytes of levels as values.
      if (nulls > count || levels > sizeBytes || (definition === 0 && levels > repeated))
        throw new Error(`a page of ${count} values claims ${nulls} nulls and ${levels} bytes of levels`);
      if (repetition > 0) checkLevels(content.subarray(0, repeated), repetition, count);
      if (definition > 0) checkLevels(content.subarray(repeated, levels), definition, count);
      const rest = content.subarray(levels);
      const page = head[7] === false || sizeBytes === levels ? rest : unpack(rest, sizeBytes - levels);
      checkValues(chunk, page, readCount(head, 4), count);
    },
  },
};

function checkValues({ type, width }: ColumnChunk, page: Uint8Array, code: number, values: number): void {
  const { types, runs } = ENCODINGS[code] ?? {};
  if (types?.test(type) !== true)
    throw new Unread(`values of ${type} have encoding ${code}, which is not read`, "write them plain");
  // Nulls take no bytes, and the decoder makes room for all values before it looks at the page.
  if (code === 9 && width > 8 && values * width > MOST_GROUP_BYTES)
    throw new Error(`a page claims ${values} values of ${width} bytes`);
  if (runs === undefined) return;
  const [start, bits] = runs(page);
  checkRuns(page.subarray(start), bits, values);
}

/** Checks that levels have runs for all values; otherwise the decoder would read on after their end. */
function checkLevels(bytes: Uint8Array, deepest: number, values: number): void {
  const seen = checkRuns(bytes, 32 - Math.clz32(deepest), values);
  if (seen < values) throw new Error(`a page has levels of ${seen} values and claims ${values}`);
}

/**
 * Checks that runs of Parquet's hybrid encoding (run lengths and bit packing) have at most `values` values. A packed
 * run may end in padding, up to 7 values more. @returns the number of values
 */
function checkRuns(bytes: Uint8Array, width: number, values: number): number {
  if (width > 32) throw new Error(`a page has indices of ${width} bits`);
  let seen = 0;
  for (let at = 0; at < bytes.length && seen < values; ) {
    const header = readVarint(() => bytes[at++] ?? 0);
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
