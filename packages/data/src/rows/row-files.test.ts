import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { parquetWriteBuffer } from "hyparquet-writer";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Dataset } from "../dataset.js";
import { findPlace } from "../row-place.js";
import { readRows } from "./read-rows.js";
import type { Row } from "./row-file.js";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "mp-rows-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function all<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const seen: T[] = [];
  for await (const row of rows) seen.push(row);
  return seen;
}

/** Checks that the stream, resumed before any of its rows, continues with the same rows. */
async function expectResumable(rows: Dataset<Row>, wanted: readonly Row[]): Promise<void> {
  expect(await all(rows)).toEqual(wanted);
  const iterator = rows.iterate(undefined, 1);
  for (let at = 0; at <= wanted.length; at++) {
    const cursor = JSON.parse(JSON.stringify(iterator.cursor));
    expect(await all(rows.iterate(cursor))).toEqual(wanted.slice(at));
    await iterator.next();
  }
}

/** Characters of one to four bytes, quotes, delimiters, and line ends of other systems. */
const text = fc.string({
  unit: fc.oneof(
    fc.constantFrom("a", ",", '"', " ", "é", "日", "😀", "\u2028", "\ufeff"),
    fc.string({ maxLength: 1 }),
  ),
  maxLength: 12,
});
const lineEnd = fc.constantFrom("\n", "\r\n");
const runs = { numRuns: 60 };

it("reads JSONL of any text, lines and ends of lines, and resumes anywhere", async () => {
  const value = fc.oneof(
    text,
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).filter((value) => !/^-?\d{16,}$/.test(`${value}`)),
    fc.array(text),
    fc.constant(null),
  );
  const line = fc.record({
    row: fc.dictionary(text, value),
    end: lineEnd,
    blank: fc.constantFrom("", "", "\n", " \r\n"),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(line, { minLength: 1, maxLength: 6 }),
      fc.boolean(),
      fc.boolean(),
      fc.boolean(),
      async (lines, isEnded, isPacked, isMarked) => {
        const json = lines.map(({ row, end, blank }) => `${blank}${JSON.stringify(row)}${end}`).join("");
        const bytes = Buffer.from((isMarked ? "\ufeff" : "") + (isEnded ? json : json.trimEnd()));
        const path = join(folder, "rows.jsonl");
        await writeFile(path, isPacked ? gzipSync(bytes) : bytes);
        await expectResumable(
          await readRows([path, path]),
          [...lines, ...lines].map(({ row }) => JSON.parse(JSON.stringify(row))),
        );
      },
    ),
    runs,
  );
});

it("reads CSV of any text, quoted where it must be, and resumes anywhere", async () => {
  const quoted = (field: string, always: boolean) =>
    always || /[",\t\r\n]|^\ufeff/.test(field) ? `"${field.replaceAll('"', '""')}"` : field;
  const field = fc.record({
    value: fc.oneof(text, fc.constantFrom("x\r\ny", "\n", "a\rb")),
    always: fc.boolean(),
  });
  const row = fc.record({ fields: fc.tuple(field, field), end: fc.constantFrom("\n", "\r\n", "\r") });
  await fc.assert(
    fc.asyncProperty(
      fc.array(row, { maxLength: 6 }),
      fc.boolean(),
      fc.boolean(),
      fc.constantFrom(",", "\t"),
      async (rows, isEnded, isPacked, delimiter) => {
        const lines = rows.map(
          ({ fields, end }) => fields.map(({ value, always }) => quoted(value, always)).join(delimiter) + end,
        );
        const csv = `\ufefffirst${delimiter}"the second"\r\n${lines.join("")}`;
        const bytes = Buffer.from(isEnded || rows.length === 0 ? csv : csv.replace(/\r?\n$|\r$/, ""));
        const path = join(folder, delimiter === "," ? "rows.csv" : "rows.tsv");
        await writeFile(path, isPacked ? gzipSync(bytes) : bytes);
        const wanted = rows.map(({ fields: [a, b] }) => ({ first: a.value, "the second": b.value }));
        await expectResumable(await readRows(path), wanted);
      },
    ),
    runs,
  );
});

it("reads Parquet of nested columns, row group by row group, and resumes anywhere", async () => {
  const row = fc.record({
    text: fc.option(text),
    count: fc.option(fc.bigInt({ min: -(2n ** 53n) + 1n, max: 2n ** 53n - 1n })),
    share: fc.option(fc.double({ noNaN: true })),
    right: fc.option(fc.boolean()),
  });
  const settings = fc.record({
    rowGroupSize: fc.integer({ min: 1, max: 7 }),
    codec: fc.constantFrom("SNAPPY", "UNCOMPRESSED"),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(row, { minLength: 1, maxLength: 20 }),
      settings,
      async (rows, { rowGroupSize, codec }) => {
        const path = join(folder, "rows.parquet");
        const column = (
          name: keyof (typeof rows)[number],
          type: "STRING" | "INT64" | "DOUBLE" | "BOOLEAN",
        ) => ({ name, type, data: rows.map((one) => one[name]), nullable: true });
        const columnData = [
          column("text", "STRING"),
          column("count", "INT64"),
          column("share", "DOUBLE"),
          column("right", "BOOLEAN"),
        ];
        await writeFile(
          path,
          Buffer.from(parquetWriteBuffer({ columnData, rowGroupSize, codec: codec as "SNAPPY" })),
        );
        const wanted = rows.map((one) => ({ ...one, count: one.count === null ? null : Number(one.count) }));
        await expectResumable(await readRows(path), wanted);
        const chosen = await readRows(path, { columns: { text: "string?" } });
        expect(await all(chosen)).toEqual(rows.map((one) => ({ text: one.text })));
        const places = (await all(chosen)).map((one) => findPlace(one));
        expect(places).toEqual(rows.map((_, at) => ({ path, row: at + 1 })));
      },
    ),
    runs,
  );
});
