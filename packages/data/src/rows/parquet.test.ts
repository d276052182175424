import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { MpError } from "@mp/core";
import fc from "fast-check";
import { parquetWriteBuffer } from "hyparquet-writer";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { refusal } from "../../test/refusal.js";
import { readRows } from "./read-rows.js";
import type { Row } from "./row-file.js";

const fixtures = fileURLToPath(new URL("../../test/fixtures/parquet/", import.meta.url));
const codecs = ["none", "snappy", "gzip", "brotli", "zstd", "lz4"];

let folder: string;
let wanted: readonly Row[];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "mp-parquet-"));
  wanted = await all(await readRows(join(fixtures, "rows.jsonl")));
});
afterAll(() => rm(folder, { recursive: true }));

async function all<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const seen: T[] = [];
  for await (const row of rows) seen.push(row);
  return seen;
}

describe("files that pyarrow wrote (bench/peers/parquet_rows.py)", () => {
  it.each(codecs)("reads lists, structs, lists of them and dictionaries, packed by %s", async (codec) => {
    const rows = await readRows(join(fixtures, `${codec}.parquet`));
    expect(await all(rows)).toEqual(wanted);
    const iterator = rows.iterate();
    for (let at = 0; at < 14; at++) await iterator.next();
    expect(await all(rows.iterate(iterator.cursor))).toEqual(wanted.slice(14));
  });

  it("reads numbers and lengths by difference", async () => {
    const rows = await all(await readRows(join(fixtures, "delta.parquet")));
    expect(rows).toEqual(wanted.map(({ id, text, score }) => ({ id, text, score })));
  });

  it("refuses texts by their prefixes, of which a few bytes may stand for terabytes", async () => {
    const { code, message } = await refusal(async () =>
      all(await readRows(join(fixtures, "prefixes.parquet"))),
    );
    expect(code).toBe("MP_PARSE");
    expect(message).toMatch(
      /column text: values of BYTE_ARRAY have encoding 7, which is not read; write them plain/,
    );
    const rows = await all(await readRows(join(fixtures, "prefixes.parquet"), { columns: { id: "number" } }));
    expect(rows).toHaveLength(30);
  });
});

it("reads columns as they are stored, whatever the file says of GeoParquet", async () => {
  const path = join(folder, "geo.parquet");
  const columnData = [{ name: "id", data: [1, 2], type: "INT32" as const }];
  const kvMetadata = [{ key: "geo", value: "not JSON" }];
  await writeFile(path, Buffer.from(parquetWriteBuffer({ columnData, kvMetadata })));
  expect(await all(await readRows(path))).toEqual([{ id: 1 }, { id: 2 }]);
});

describe("files that lie", () => {
  /** Reads the rows, or returns the MpError; fails if reading takes much memory. */
  async function outcome(bytes: Uint8Array): Promise<readonly Row[] | MpError> {
    const path = join(folder, "lie.parquet");
    await writeFile(path, bytes);
    const before = process.memoryUsage.rss();
    const result = await readRows(path)
      .then(all)
      .catch((error: unknown) => error);
    expect(process.memoryUsage.rss() - before).toBeLessThan(700e6);
    if (Array.isArray(result)) return result;
    if (!MpError.is(result)) throw result;
    expect(result.message).toMatch(/lie\.parquet: .+; .+/s);
    return result;
  }

  it.each(codecs)(
    "are read or refused by name, whichever bytes are changed, packed by %s",

    async (codec) => {
      const sound = await readFile(join(fixtures, `${codec}.parquet`));
      const change = fc.record({ at: fc.nat(sound.length - 1), byte: fc.integer({ min: 0, max: 255 }) });
      await fc.assert(
        fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 3 }), async (changes) => {
          const bytes = Uint8Array.from(sound);
          for (const { at, byte } of changes) bytes[at] = byte;
          await outcome(bytes);
        }),
        { numRuns: 80 },
      );
    },
  );

  it("are refused where a page differs from its checksum", async () => {
    const sound = await readFile(join(fixtures, "zstd.parquet"));
    const footer = sound.length - 8 - sound.readUInt32LE(sound.length - 8);
    let refused = 0;
    for (let at = 4; at < footer; at += 23) {
      const bytes = Uint8Array.from(sound);
      bytes[at] = (bytes[at] ?? 0) ^ 16;
      const result = await outcome(bytes);
      // Statistics in the headers of pages are not read.
      if (MpError.is(result)) refused++;
      else expect(result).toEqual(wanted);
    }
    expect(refused).toBeGreaterThan(50);
  });

  it("are refused where a page unpacks to fewer bytes than it claims", async () => {
    /** A zstd frame with one uncompressed block. */
    const frame = (bytes: Uint8Array) =>
      Uint8Array.from([
        0x28,
        0xb5,
        0x2f,
        0xfd,
        0x20,
        bytes.length,
        (bytes.length * 8 + 1) % 256,
        bytes.length >> 5,
        0,
        ...bytes,
      ]);
    const written = (keep: (bytes: Uint8Array) => Uint8Array, last: number) =>
      parquetWriteBuffer({
        columnData: [{ name: "id", type: "INT32", data: [1, 2, last], nullable: false, encoding: "PLAIN" }],
        codec: "ZSTD",
        compressors: { ZSTD: (bytes: Uint8Array) => frame(keep(bytes)) },
      });
    // The last byte of a page may have any value, even the reader's fill value.
    for (const last of [0, 0xa5 * 2 ** 24, 0xa5a5a5a5 | 0, 7]) {
      expect(await outcome(Buffer.from(written((bytes) => bytes, last | 0)))).toEqual(
        [1, 2, last | 0].map((id) => ({ id })),
      );
      const cut = await outcome(Buffer.from(written((bytes) => bytes.subarray(0, -1), last | 0)));
      expect(cut).toMatchObject({
        code: "MP_PARSE",
        message: expect.stringContaining("column id: a page is cut short"),
      });
    }
  });

  it("are refused wherever they are cut short", async () => {
    const sound = await readFile(join(fixtures, "snappy.parquet"));
    for (let length = 1; length < sound.length; length += 97) {
      const error = await outcome(sound.subarray(0, length));
      expect(error).toMatchObject({
        code: "MP_PARSE",
        message: expect.stringMatching(/may be cut short; download/),
      });
    }
  });
});
