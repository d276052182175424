import { describe, expect, it } from "vitest";
import { type ColumnChunk, checkPages, MOST_GROUP_BYTES } from "./parquet-pages.js";
import { readStruct } from "./thrift.js";

const varint = (value: number): number[] =>
  value < 128 ? [value] : [(value % 128) + 128, ...varint(Math.floor(value / 128))];
const [I32, LIST, STRUCT] = [5, 9, 12];
/** A Thrift field whose number is one more than `after`. */
const field = (after: number, type: number, ...content: number[]): number[] => [
  after * 16 + type,
  ...content,
];
const count = (after: number, value: number): number[] => field(after, I32, ...varint(2 * value));

interface Page {
  readonly values?: number;
  readonly encoding?: number;
  readonly sizeBytes?: number;
  readonly packedBytes?: number;
}

/** A data page, version 1. */
const page = (
  content: readonly number[],
  { values = 4, encoding = 0, sizeBytes, packedBytes }: Page = {},
): Uint8Array =>
  Uint8Array.from([
    ...count(1, 0),
    ...count(1, sizeBytes ?? content.length),
    ...count(1, packedBytes ?? content.length),
    ...field(2, STRUCT, ...count(1, values), ...count(1, encoding), 0),
    0,
    ...content,
  ]);

const levels = (...runs: readonly number[]): number[] => [runs.length, 0, 0, 0, ...runs];
const optional = {
  type: "INT32",
  values: 4,
  definition: 1,
  repetition: 0,
  width: 0,
  unpack: (packed: Uint8Array) => packed,
};
const check = (bytes: Uint8Array, chunk: Partial<ColumnChunk> = {}) =>
  checkPages({ ...optional, bytes, ...chunk }, MOST_GROUP_BYTES);

describe("checkPages", () => {
  const four = levels(...varint(8), 1);
  const sound = [...four, ...new Array(16).fill(0)];

  it("gives the bytes that sound pages unpack to", () => {
    expect(check(page(sound))).toBe(sound.length);
    expect(check(page([...levels(3, 15), ...new Array(16).fill(0)]))).toBe(22);
    expect(check(page([...four, 2, ...varint(8), 1], { encoding: 8 }))).toBe(9);
  });

  it.each<[string, Uint8Array, Partial<ColumnChunk>, string]>([
    [
      "a run of levels",
      page([...levels(...varint(2 ** 32 - 2), 1)]),
      {},
      "a run claims 2147483647 values of 4",
    ],
    [
      "packed levels",
      page([...levels(...varint(2 ** 31 + 1), 1)]),
      {},
      "a run claims 8589934592 values of 4",
    ],
    ["fewer levels", page([...levels(...varint(4), 1)]), {}, "a page has levels of 2 values and claims 4"],
    ["the length of levels", page([255, 255, 255, 255, 1]), {}, "a page has levels of 0 values and claims 4"],
    [
      "a run of indices",
      page([...four, 2, ...varint(2 ** 32 - 2), 1], { encoding: 8 }),
      {},
      "a run claims 2147483647 values of 4",
    ],
    ["the width of indices", page([...four, 33, 8, 1], { encoding: 8 }), {}, "a page has indices of 33 bits"],
    [
      "a run of booleans",
      page([...four, 0, 0, 0, 0, ...varint(2 ** 32 - 2), 1], { encoding: 3 }),
      { type: "BOOLEAN" },
      "a run claims 2147483647 values of 4",
    ],
    [
      "indices of booleans",
      page([...four, 1, 8, 1], { encoding: 8 }),
      { type: "BOOLEAN" },
      "values of BOOLEAN have encoding 8, which is not read",
    ],
    [
      "prefixes",
      page(sound, { encoding: 7 }),
      { type: "BYTE_ARRAY" },
      "values of BYTE_ARRAY have encoding 7, which is not read",
    ],
    [
      "the bytes of a value",
      page(sound, { encoding: 9 }),
      { type: "FIXED_LEN_BYTE_ARRAY", width: 2 ** 29 },
      "a page claims 4 values of 536870912 bytes",
    ],
    ["its number of values", page(sound, { values: 5 }), {}, "its pages claim 5 values and its footer 4"],
    [
      "the column's number of values",
      page(sound),
      { values: 5 },
      "its pages have 4 values and its footer claims 5",
    ],
    [
      "bytes beyond the column",
      page(sound, { packedBytes: 99 }),
      {},
      "a page claims 99 bytes beyond its column",
    ],
    [
      "the size that it unpacks to",
      page(sound, { sizeBytes: 2 ** 30 + 1 }),
      {},
      "its pages claim to unpack to more than 1073741824 bytes",
    ],
  ])("refuses a page that lies about %s", (_, bytes, chunk, message) => {
    expect(() => check(bytes, chunk)).toThrow(message);
  });
});

describe("a page of the second version", () => {
  /** A data page, version 2, of one boolean in runs, whose header claims this many bytes of levels. */
  const second = (levels: number, nulls: number): Uint8Array =>
    Uint8Array.from([
      ...[...count(1, 3), ...count(1, 8), ...count(1, 8)],
      ...field(5, STRUCT, ...count(1, 1), ...count(1, nulls), ...count(1, 1), ...count(1, 3)),
      ...[...count(1, levels), ...count(1, 0), 0, 0],
      ...[2, 1, 2, 0, 0, 0, 2, 1],
    ]);
  const required = { type: "BOOLEAN", values: 1, definition: 0 };

  it("has no levels where nothing is optional, since the decoder takes their bytes for values", () => {
    expect(check(second(2, 0), { ...required, definition: 1 })).toBe(8);
    expect(() => check(second(2, 0), required)).toThrow("claims 0 nulls and 2 bytes of levels");
    expect(() => check(second(0, 2), required)).toThrow("a page of 1 values claims 2 nulls");
    expect(() => check(second(9, 0), { ...required, definition: 1 })).toThrow("and 9 bytes of levels");
  });
});

describe("readStruct", () => {
  const bytes = (...content: number[]) => Uint8Array.from(content);

  it("reads numbers and structs, and skips the rest", () => {
    const struct = [
      ...count(1, 70_000),
      ...field(1, 8, 2, 65, 66),
      ...field(1, STRUCT, ...count(4, 1), 0),
      0,
    ];
    expect(readStruct(bytes(9, ...struct, 9), 1)).toEqual({
      struct: { 1: 70_000, 3: { 4: 1 } },
      end: struct.length + 1,
    });
  });

  it("refuses lists, texts and depths beyond its bytes", () => {
    const refused = (content: number[], message: string) =>
      expect(() => readStruct(bytes(...content), 0)).toThrow(message);
    refused(
      field(1, LIST, 0xf5, ...varint(2 ** 31)),
      "a list of 2147483648 elements is longer than its header",
    );
    refused(field(1, 8, ...varint(900)), "a text of 900 bytes is longer than its header");
    refused(new Array(99).fill(field(1, STRUCT)).flat(), "a header is nested too deep");
    refused(
      new Array(99)
        .fill(field(1, LIST, 0x19))
        .flat()
        .concat(new Array(99).fill(0x19)),
      "a header is nested too deep",
    );
    refused([...count(1, 3)], "a header ends too soon");
    refused(field(1, 13, 0), "a header has a field of unknown type 13");
  });
});
