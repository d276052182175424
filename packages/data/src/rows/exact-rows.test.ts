import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parquetWriteBuffer } from "hyparquet-writer";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { refusal } from "../../test/refusal.js";
import { mapDataset } from "../dataset.js";
import type { ColumnType } from "./columns.js";
import { readRows } from "./read-rows.js";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "mp-exact-"));
});
afterAll(() => rm(folder, { recursive: true }));

type Options = Parameters<typeof readRows>[1];
type Columns = Readonly<Record<string, ColumnType>>;

async function all<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const seen: T[] = [];
  for await (const row of rows) seen.push(row);
  return seen;
}

async function read(name: string, content: string, options: Options = {}): Promise<unknown> {
  const path = join(folder, name);
  await writeFile(path, content);
  return all(await readRows(path, options));
}

/** A file that pyarrow wrote (bench/peers/parquet_rows.py). */
const parquet = async (name: string, options: Options = {}): Promise<readonly unknown[]> =>
  all(
    await readRows(
      fileURLToPath(new URL(`../../test/fixtures/parquet/${name}.parquet`, import.meta.url)),
      options,
    ),
  );

const BIG = 9007199254740993n;

describe("a whole number beyond 2^53", () => {
  it.each<[string, string, Columns | undefined, string]>([
    ["a.jsonl", `{"id":${BIG}}\n`, undefined, "id"],
    ["a.jsonl", `{"id":${BIG}}\n`, { id: "number" }, "id"],
    ["a.jsonl", '{"x":1}\n{"ids":[0, {"é\\"":[ -1161888007138312193 ]}]}', undefined, "ids"],
    ["a.jsonl", `{"ids":[${BIG}]}\n`, { ids: "list" }, "ids"],
    ["a.csv", `id,x\n${BIG},1\n`, { id: "number" }, "id"],
    ["a.csv", "id\n\n -9007199254740992 \n", { id: "number?" }, "id"],
  ])("is refused: %s %s", async (name, content, columns, column) => {
    const { code, message, details } = await refusal(() => read(name, content, columns && { columns }));
    expect([code, details["column"]]).toEqual(["MP_PARSE", column]);
    expect(message).toMatch(
      /column ".+" has -?\d+, and numbers are exact up to 2\^53 - 1; leave the column out, write it as text, or get/,
    );
  });

  it("is refused in a Parquet column of integers, decimals or lists", async () => {
    for (const column of ["int64", "uint64", "decimal", "list"]) {
      const { code, message } = await refusal(() =>
        parquet("big", { columns: { [column]: column === "list" ? "list" : "number" } }),
      );
      expect([code, message]).toEqual([
        "MP_PARSE",
        expect.stringMatching(/row 2: column "\w+.*has \d+, and numbers/),
      ]);
    }
    const { message } = await refusal(() => parquet("big", { columns: { cents: "number" } }));
    expect(message).toMatch(/has 12345678901234567890e-2, and numbers are exact up to 2\^53 - 1; leave/);
    expect(await parquet("big", { columns: { sound: "number" } })).toEqual([
      { sound: 0.3 },
      { sound: -12.05 },
    ]);
  });

  it("is a BigInt in a column of that type, like all its values", async () => {
    const columns = { id: "bigint?" } as const;
    const wanted = [{ id: BIG }, { id: 7n }, { id: null }];
    expect(await read("b.jsonl", `{"id":${BIG}}\n{"id":7}\n{"x":${BIG}}\n`, { columns })).toEqual(wanted);
    expect(await read("b.csv", `id,x\n${BIG},\n +7 ,\n,\n`, { columns })).toEqual(wanted);
    expect(
      await parquet("big", { columns: { uint64: "bigint", int64: "bigint", decimal: "bigint" } }),
    ).toEqual([
      { uint64: 0n, int64: 2n ** 53n - 1n, decimal: 12n },
      { uint64: 2n ** 64n - 1n, int64: BIG, decimal: BIG },
    ]);
    for (const text of ["1.5", "1e3", "0x10", "x", "9".repeat(4301)]) {
      const { message } = await refusal(() => read("b.csv", `id\n${text}\n`, { columns }));
      expect(message).toContain('column "id" must be a whole number, got ');
    }
  });

  it("is a BigInt at any depth with bigIntegers", async () => {
    const text = `{"a":[${BIG},5,"${BIG}"],"b":{"c":-${BIG}},"d":"x\\\\\\": ${BIG},","e":${BIG}.5,"f":0.12345678901234567890,"g":1e${"0".repeat(17)}}`;
    const [row] = (await read("c.jsonl", text, { bigIntegers: true })) as [Record<string, unknown>];
    expect(row).toEqual({ ...JSON.parse(text), a: [BIG, 5, `${BIG}`], b: { c: -BIG } });
    expect(await parquet("big", { columns: { list: "list" }, bigIntegers: true })).toEqual([
      { list: [1] },
      { list: [2, BIG] },
    ]);
  });

  it("has at most 4300 digits", async () => {
    const { message } = await refusal(() =>
      read("d.jsonl", `{"a":${"9".repeat(4301)}}`, { bigIntegers: true }),
    );
    expect(message).toContain("row 1 (line 1): has a whole number of 4301 digits; write it as text");
  });

  it("may stand in a column that is not read", async () => {
    expect(await read("e.jsonl", `{"a":1,"b":[${BIG}]}\n`, { columns: { a: "number" } })).toEqual([{ a: 1 }]);
  });
});

describe("numbers of CSV", () => {
  it.each<[string, number]>([
    ["1.50", 1.5],
    [" -2E-3 ", -0.002],
    [".5", 0.5],
    ["007", 7],
    ["1e400", Number.POSITIVE_INFINITY],
  ])("are decimal: %s", async (text, value) => {
    expect(await read("a.csv", `a\n${text}\n`, { columns: { a: "number" } })).toEqual([{ a: value }]);
  });

  it.each([["0x10"], ["0b1"], ["0o7"], ["1_000"], ["NaN"], ["NA"], ["1,5"], [""], ["9", 4301]] as [
    string,
    number?,
  ][])("are not %s", async (text, times = 1) => {
    const { code } = await refusal(() =>
      read("a.csv", `a,b\n"${text.repeat(times)}",x\n`, { columns: { a: "number" } }),
    );
    expect(code).toBe("MP_PARSE");
  });
});

it.each([
  ["a.csv", "a,b\r1,2\r3,4\r"],
  ["a.csv", "\ufeffa,b\n1,2\r3,4\r\n"],
  ["a.csv", "a,b\r\r1,2\r\n\n3,4"],
  ["a.tsv", "a\tb\r1\t2\r3\t4"],
])("CSV of any ends of lines has all its rows: %s %j", async (name, content) => {
  expect(await read(name, content)).toEqual([
    { a: "1", b: "2" },
    { a: "3", b: "4" },
  ]);
});

it("a blank line of CSV is no row, and an empty field in quotes is one", async () => {
  expect(await read("a.csv", 'text\rone\r\r""\rtwo\r')).toEqual([
    { text: "one" },
    { text: "" },
    { text: "two" },
  ]);
});

it("texts that mean nothing are null where a type has a question mark", async () => {
  const content = 'a,b,c\nNA,NA,x\n1,NaN,\n"null",,NA\n';
  const columns = { a: "number?", b: "string?", c: "string" } as const;
  expect(await read("a.csv", content, { columns, nullValues: ["NA", "NaN", "null"] })).toEqual([
    { a: null, b: null, c: "x" },
    { a: 1, b: null, c: "" },
    { a: null, b: null, c: "NA" },
  ]);
  const { message } = await refusal(() => read("a.csv", content, { columns }));
  expect(message).toContain('column "a" must be a number, got "NA"; correct it, or pass nullValues: ["NA"]');
  for (const nullValues of ["NA", [1], {}])
    expect(
      (await refusal(() => read("a.csv", content, { nullValues: nullValues as string[] }))).message,
    ).toMatch(/nullValues must be a list of texts/);
});

describe("Parquet", () => {
  it("has columns of any names", async () => {
    const [first, second] = (await parquet("names")) as [Record<string, unknown>, Record<string, unknown>];
    const wanted = [
      ["a.b", 0],
      ["c d", 1],
      ["é", 2],
      ["__proto__", 3],
      ["constructor", 4],
      ["toString", 5],
      ["", 6],
    ];
    expect(Object.entries(first).slice(0, 7)).toEqual(wanted);
    expect(Object.entries(first["a"] as object)).toEqual([
      ["b", "x"],
      ["__proto__", 1],
    ]);
    expect(Object.values(second)).toEqual(new Array(8).fill(null));
    expect(
      (await parquet("names", { columns: { ["__proto__"]: "number?", "a.b": "number?" } })).map((row) =>
        Object.entries(row as object),
      ),
    ).toEqual([
      [
        ["__proto__", 3],
        ["a.b", 0],
      ],
      [
        ["__proto__", null],
        ["a.b", null],
      ],
    ]);
  });

  it("has nulls throughout, packed by lz4", async () => {
    expect(await parquet("nulls")).toEqual(Array.from({ length: 300 }, (_, at) => ({ a: null, b: at })));
  });

  it("has halves, byte by byte", async () => {
    const halves = (await parquet("halves")).map((row) => (row as { x: number }).x);
    expect(halves).toEqual([1.5, 65504, 2 ** -24, Number.NaN, -0, Number.POSITIVE_INFINITY]);
  });
});

/** Writes and reads a Parquet file. */
async function written(options: Parameters<typeof parquetWriteBuffer>[0]): Promise<unknown> {
  const path = join(folder, "written.parquet");
  await writeFile(path, Buffer.from(parquetWriteBuffer(options)));
  return all(await readRows(path));
}

it("Parquet lists of old writers hold objects where their names say so", async () => {
  const data = [[1, null], null, []];
  const list = (name: string) =>
    written({
      columnData: [{ name: "a", data }],
      schema: [
        { name: "root", num_children: 1 },
        { name: "a", repetition_type: "OPTIONAL", num_children: 1, converted_type: "LIST" },
        { name, repetition_type: "REPEATED", num_children: 1 },
        { name: "x", repetition_type: "OPTIONAL", type: "INT32" },
      ],
    });
  expect(await list("list")).toEqual(data.map((a) => ({ a })));
  for (const name of ["array", "a_tuple"])
    expect(await list(name)).toEqual([{ a: [{ x: 1 }, { x: null }] }, { a: null }, { a: [] }]);
});

it("a Parquet column that is there twice is refused", async () => {
  const columnData = [1, 2].map((value) => ({ name: "a", data: [value], type: "INT32" as const }));
  const { message } = await refusal(() => written({ columnData }));
  expect(message).toContain('it names "a" twice; name each column and each field once');
});

describe("a column of chats", () => {
  const chat = (...roles: unknown[]) => roles.map((role) => ({ role, content: "Hi" }));
  const columns = { messages: "chat" } as const;

  it("has messages with a role, and is encoded by an async function", async () => {
    const path = join(folder, "chat.jsonl");
    await writeFile(path, `${JSON.stringify({ messages: chat("user", "assistant") })}\n`);
    const encodeChat = async (
      messages: readonly { readonly role: string; readonly [field: string]: unknown }[],
    ) => ({
      ids: messages.flatMap(({ role }) => [...Buffer.from(role)]),
    });
    const rows = await readRows(path, { columns });
    const examples = mapDataset(rows, ({ messages }) => encodeChat(messages));
    expect(await all(examples)).toEqual([
      { ids: [..."user", ..."assistant"].map((sign) => sign.charCodeAt(0)) },
    ]);
    const fromParquet = await parquet("none", { columns });
    expect(fromParquet[1]).toEqual({ messages: [{ role: "user", content: "How far is 1? 🦉" }] });
  });

  it.each([
    [{ messages: "Hi" }],
    [{ messages: ["Hi"] }],
    [{ messages: chat("user", 1) }],
    [{ messages: chat("user", undefined) }],
  ])("is refused otherwise: %j", async (row) => {
    const { code, message } = await refusal(() => read("no-chat.jsonl", JSON.stringify(row), { columns }));
    expect(code).toBe("MP_PARSE");
    expect(message).toContain('column "messages" must be a list of messages with a role each, got ');
  });
});
