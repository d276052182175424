import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { refusal } from "../../test/refusal.js";
import { readRows } from "./read-rows.js";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "mp-broken-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function all<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const seen: T[] = [];
  for await (const row of rows) seen.push(row);
  return seen;
}

type Options = Parameters<typeof readRows>[1];

/** The message that refuses a file with this name and content, without its path. */
async function refused(name: string, content: string | Uint8Array, options: Options = {}): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  const { code, message, details } = await refusal(async () => all(await readRows(path, options)));
  expect(details["path"]).toBe(path);
  return `${code} ${message.replace(path, name)}`;
}

describe("a broken row", () => {
  it.each<[string, string, string | Uint8Array, Options, string]>([
    [
      "no JSON",
      "a.jsonl",
      '{"a":1}\n\n{"a":\n',
      {},
      "MP_PARSE a.jsonl: row 2 (line 3): is not valid JSON, Unexpected end of JSON input; write one JSON object a line, or download the file again if it was cut short",
    ],
    [
      "Python's NaN",
      "a.jsonl",
      '{"a":NaN}\n',
      {},
      `MP_PARSE a.jsonl: row 1 (line 1): is not valid JSON, Unexpected token 'N', "{"a":NaN}" is not valid JSON; write NaN and Infinity as null or as text, JSON has neither`,
    ],
    [
      "no object",
      "a.ndjson",
      "[1]\n",
      {},
      'MP_PARSE a.ndjson: row 1 (line 1): must be a JSON object such as {"text": "…"}, got [1]; write one a line',
    ],
    [
      "no text",
      "a.jsonl",
      Buffer.from('{"a":"\xe9"}\n', "latin1"),
      {},
      "MP_PARSE a.jsonl: row 1 (line 1): is not UTF-8; convert the file, for example with iconv -f latin1 -t utf-8",
    ],
    [
      "too few fields",
      "a.csv",
      'a,b\n"1\n1",2\n\n3\n',
      {},
      "MP_PARSE a.csv: row 2 (line 5): has 1 fields and the header 2, a, b; correct it, quote fields that hold the delimiter, or download the file again",
    ],
    [
      "an open quote",
      "a.csv",
      'a,b\n1,2\n3,"4\n5,6\n',
      {},
      "MP_PARSE a.csv: row 2 (line 3): is not valid CSV, quote not closed; correct the quotes, or download the file again if it was cut short",
    ],
    [
      "a quote within",
      "a.tsv",
      'a\tb\n1\t2\n3\t4"5\n',
      {},
      "MP_PARSE a.tsv: row 2 (line 3): is not valid CSV, invalid opening quote; correct the quotes, or download the file again if it was cut short",
    ],
    [
      "no text in CSV",
      "a.csv",
      Buffer.from("a\n\xe9\n", "latin1"),
      {},
      "MP_PARSE a.csv: row 1 (line 2): is not UTF-8; convert the file, for example with iconv -f latin1 -t utf-8",
    ],
    [
      "no column",
      "a.jsonl",
      '{"a":"1"}\n{"b":"1"}\n',
      { columns: { a: "string" } },
      'MP_PARSE a.jsonl: row 2 (line 2): has no column "a"; name one of b, or let it be null with "string?"',
    ],
    [
      "another type",
      "a.jsonl",
      '{"a":"1"}\n{"a":2}\n',
      { columns: { a: "string" } },
      'MP_PARSE a.jsonl: row 2 (line 2): column "a" must be a string, got 2; correct it, or name its type in columns',
    ],
    [
      "null",
      "a.jsonl",
      '{"a":null}\n',
      { columns: { a: "list" } },
      'MP_PARSE a.jsonl: row 1 (line 1): column "a" must be a list, got null; let it be null with "list?"',
    ],
    [
      "no number",
      "a.csv",
      "a,b\n1,1e3\n ,x\n",
      { columns: { b: "number" } },
      'MP_PARSE a.csv: row 2 (line 3): column "b" must be a number, got "x"; correct it, name its type in columns, or let it be null with "number?" and nullValues',
    ],
  ])("is refused: %s", async (_, name, content, options, message) => {
    expect(await refused(name, content, options)).toBe(message);
  });
});

describe("a broken file", () => {
  it.each<[string, string, string | Uint8Array, Options, string]>([
    ["empty", "a.jsonl", "", {}, "MP_PARSE a.jsonl: is empty; write rows into it, or leave it out"],
    [
      "cut short",
      "a.jsonl.gz",
      gzipSync('{"a":1}\n'.repeat(999)).subarray(0, 30),
      {},
      "MP_PARSE a.jsonl.gz: not a valid gzip file, unexpected end of file; unpack it with gunzip or download it again",
    ],
    [
      "without a header",
      "a.csv.gz",
      gzipSync(""),
      {},
      "MP_PARSE a.csv.gz: has no header; name its columns in its first line",
    ],
    [
      "two columns of a name",
      "a.csv",
      "a,b,a\n",
      {},
      'MP_PARSE a.csv: its header names "a" twice; name each column once, with "," between them',
    ],
    [
      "no such column",
      "a.csv",
      "a,b\n1,2\n",
      { columns: { c: "string?" } },
      'MP_PARSE a.csv: has no column "c"; name one of a, b',
    ],
    [
      "a list in CSV",
      "a.csv",
      "a,b\n1,2\n",
      { columns: { a: "list" } },
      'MP_PARSE a.csv: column "a" cannot be a list, CSV holds text, numbers and booleans; use JSONL',
    ],
    [
      "of an unknown format",
      "a.json",
      "[]",
      {},
      'MP_INVALID_ARGUMENT readRows: a.json has the extension of no format of rows, which are jsonl, ndjson, csv, tsv, parquet; pass format: "jsonl", "csv" or "parquet"',
    ],
    [
      "of another format",
      "a.parquet",
      '{"a":1}\n',
      {},
      "MP_PARSE a.parquet: does not end as a Parquet file does, with PAR1, and may be cut short; download the file again, or write it again with pyarrow or DuckDB",
    ],
    [
      "an encrypted Parquet file",
      "a.parquet",
      "PAR1....PARE",
      {},
      "MP_PARSE a.parquet: is encrypted; write it without encryption",
    ],
    [
      "a packed Parquet file",
      "a.parquet",
      gzipSync("PAR1"),
      {},
      "MP_PARSE a.parquet: is gzipped; unpack it with gunzip",
    ],
  ])("is refused: %s", async (_, name, content, options, message) => {
    expect(await refused(name, content, options)).toBe(message);
  });

  it("is refused unopened where it is no regular file", async () => {
    const pipe = join(folder, "pipe.jsonl");
    execFileSync("mkfifo", [pipe]);
    for (const path of [pipe, "/dev/zero", folder, join(folder, "none.csv")]) {
      const { code, message } = await refusal(() => readRows(path, { format: "jsonl" }));
      expect([code, message]).toEqual(["MP_IO", expect.stringContaining(`${path}: cannot be read, `)]);
    }
  });

  it("is refused where one row fills the memory", async () => {
    const path = join(folder, "long.jsonl");
    await writeFile(path, `{"a":"${"a".repeat(2 ** 26 + 2 ** 18)}"}\n`);
    const { message } = await refusal(async () => all(await readRows(path)));
    expect(message).toBe(
      `${path}: row 1 (line 1): is longer than 67108864 bytes; split it, or write a row a line`,
    );
  });
});

/** Files with one broken row each, by format. */
const BROKEN = {
  jsonl: [
    '{"a":"x',
    "[1]",
    "3",
    '{"a":"x","b":"y"}',
    '{"b":2}',
    '{"a":null,"b":2}',
    '{"a":"\xff","b":2}',
    "x",
  ],
  csv: ["x", "x,1,2", 'x,"1', 'x"y,1', '"x"y,1', "x,y", "x,", "\xff,1"],
} as const;
const SOUND = { jsonl: '{"a":"x","b":1}', csv: "x,1" } as const;

it.each(["jsonl", "csv"] as const)("is a row that the error names with a remedy, in %s", async (format) => {
  const path = join(folder, `named.${format}`);
  const end = fc.constantFrom("\n", "\r\n", "\n\n");
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...BROKEN[format]),
      fc.array(end),
      fc.array(end),
      async (row, before, after) => {
        const lines = [
          ...(format === "csv" ? ["a,b\n"] : []),
          ...before.map((end) => SOUND[format] + end),
          `${row}\n`,
          ...after.map((end) => SOUND[format] + end),
        ];
        await writeFile(path, Buffer.from(lines.join(""), "latin1"));
        const rows = await readRows(path, { columns: { a: "string", b: "number" } });
        const { code, message, details } = await refusal(() => all(rows));
        const line = lines
          .slice(0, lines.indexOf(`${row}\n`))
          .join("")
          .split("\n").length;
        expect([code, details["row"], details["line"]]).toEqual(["MP_PARSE", before.length + 1, line]);
        expect(message).toMatch(/: row \d+ \(line \d+\): .+; .+/);
        expect(message.startsWith(path)).toBe(true);
      },
    ),
  );
});

it("is a file in UTF-16, named with the command that converts it", async () => {
  const text = fc.constantFrom(
    ...Object.entries({ jsonl: '{"a":"é日"}\n', csv: "a\né日\n", tsv: "ab\tc\r\nx\ty" }),
  );
  await fc.assert(
    fc.asyncProperty(
      text,
      fc.boolean(),
      fc.boolean(),
      fc.boolean(),
      async ([format, text], isBig, isMarked, isPacked) => {
        const bytes = Buffer.from((isMarked ? "\ufeff" : "") + text, "utf16le");
        if (isBig) bytes.swap16();
        const name = isBig ? "UTF-16BE" : "UTF-16LE";
        expect(await refused(`wide.${format}`, isPacked ? gzipSync(bytes) : bytes)).toBe(
          `MP_PARSE wide.${format}: is ${name} and must be UTF-8; convert it, with iconv -f ${name} -t UTF-8`,
        );
      },
    ),
  );
});

it("names the delimiter where a header is one column", async () => {
  const path = join(folder, "semicolons.csv");
  await writeFile(path, "prompt;answer\nx;y\n");
  const columns = { prompt: "string" } as const;
  const { message } = await refusal(() => readRows(path, { columns }));
  expect(message).toMatch(/has no column "prompt"; name one of prompt;answer, or pass the delimiter/);
  expect(await all(await readRows(path, { columns, delimiter: ";" }))).toEqual([{ prompt: "x" }]);
});

it("reads the named columns with their types", async () => {
  const csv = join(folder, "typed.csv");
  await writeFile(csv, "a,b,c,d\nx,1.5,true,\n,-2e3,FALSE,7\n");
  const rows = await readRows(csv, { columns: { a: "string", b: "number", c: "boolean", d: "number?" } });
  expect(await all(rows)).toEqual([
    { a: "x", b: 1.5, c: true, d: null },
    { a: "", b: -2000, c: false, d: 7 },
  ]);
  const jsonl = join(folder, "typed.jsonl");
  await writeFile(jsonl, '{"a":[1],"b":{},"c":0}\n{"a":[]}\n');
  const lists = await readRows(jsonl, { columns: { a: "list", b: "object?" } });
  const first: readonly unknown[] | undefined = (await all(lists))[0]?.a;
  expect([first, await all(lists)]).toEqual([
    [1],
    [
      { a: [1], b: {} },
      { a: [], b: null },
    ],
  ]);
  const listed =
    "must be string, number, bigint, boolean, chat, list, object, or one of them with a question mark";
  for (const [type, hint] of [
    ["str", "; did you mean string?"],
    ["float?", "; did you mean number?"],
    ["constructor", '"constructor"'],
    ["?string", '"?string"'],
    [1, "got 1"],
  ] as const) {
    const { code, message } = await refusal(() => readRows(jsonl, { columns: { a: type as "string" } }));
    expect(code).toBe("MP_INVALID_ARGUMENT");
    expect(message).toContain(`readRows: columns: the type of "a" ${listed}`);
    expect(message.endsWith(hint)).toBe(true);
  }
  for (const columns of [{}, ["a"], null, "a"])
    expect((await refusal(() => readRows(jsonl, { columns: columns as never }))).message).toContain(
      "columns must be columns by name, such as",
    );
});

it("reads characters across the borders of chunks", async () => {
  const path = join(folder, "chunks");
  const length = fc.integer({ min: 65_500, max: 65_540 });
  await fc.assert(
    fc.asyncProperty(length, fc.constantFrom("jsonl", "csv"), async (length, format) => {
      const values = ["a".repeat(length), "é日😀é日😀é日😀é日😀é日😀é日😀é日😀", "b"];
      const lines = values.map((value) => (format === "csv" ? value : JSON.stringify({ text: value })));
      await writeFile(path, [...(format === "csv" ? ["text"] : []), ...lines].join("\r\n"));
      expect(await all(await readRows(path, { format: format as "csv" }))).toEqual(
        values.map((text) => ({ text })),
      );
    }),
    { numRuns: 40 },
  );
});

it("comes in another order of files in each pass, and refuses cursors of other files", async () => {
  const paths = await Promise.all(
    [0, 1, 2, 3, 4].map(async (file) => {
      const path = join(folder, `${file}.jsonl`);
      await writeFile(path, `{"file":${file}}\n{"file":${file}}\n`);
      return path;
    }),
  );
  const rows = await readRows(paths, { shuffle: { seed: 1 } });
  const order = async (pass: number) => (await all(rows.iterate(undefined, pass))).map(({ file }) => file);
  expect(await order(0)).not.toEqual(await order(1));
  expect([...(await order(1))].sort()).toEqual([0, 0, 1, 1, 2, 2, 3, 3, 4, 4]);
  const iterator = rows.iterate(undefined, 1);
  for (let at = 0; at < 5; at++) await iterator.next();
  expect((await all(rows.iterate(iterator.cursor))).map(({ file }) => file)).toEqual(
    (await order(1)).slice(5),
  );
  const other = await readRows(paths.slice(1), { shuffle: { seed: 1 } });
  expect(() => other.iterate(iterator.cursor)).toThrow(`and ${paths.slice(1).join(", ")} is "rows`);
  for (const wrong of [{ file: 6 }, { row: -1 }, { byte: null }, { line: "1" }]) {
    expect(() => rows.iterate({ ...(iterator.cursor as object), ...wrong })).toThrow(
      "not a cursor of a dataset",
    );
  }
  // A copy of the file at another path is the same data.
  await writeFile(join(folder, "moved.jsonl"), await readFile(paths[0] as string));
  const moved = await readRows([join(folder, "moved.jsonl"), ...paths.slice(1)], { shuffle: { seed: 1 } });
  expect(await all(moved.iterate(iterator.cursor))).toHaveLength(5);
});
