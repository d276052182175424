/** The folder of random_rows.py is that of `MP_RANDOM_ROWS`; without it a few of its files are read. */
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { compareRows, type Expected } from "./compare.js";

interface Fixture {
  readonly name: string;
  /** The file, in base64. */
  readonly bytes: string;
  readonly expected: Expected;
}

let folder: string;
let fixtures: readonly Fixture[];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "mp-random-"));
  const text = await readFile(new URL("../fixtures/random-rows.jsonl", import.meta.url), "utf8");
  fixtures = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Fixture);
});
afterAll(() => rm(folder, { recursive: true }));

/** The paths of files of a format, with what Python reads of them. */
async function* files(format: string): AsyncGenerator<[path: string, expected: Expected]> {
  const random = process.env["MP_RANDOM_ROWS"];
  if (random === undefined) {
    for (const { name, bytes, expected } of fixtures.filter(({ name }) => name.endsWith(`.${format}`))) {
      await writeFile(join(folder, name), Buffer.from(bytes, "base64"));
      yield [join(folder, name), expected];
    }
    return;
  }
  for (const name of (await readdir(random)).filter((name) => name.endsWith(`.${format}`))) {
    const path = join(random, name);
    yield [path, JSON.parse(await readFile(path.replace(/\.\w+$/, ".json"), "utf8"))];
  }
}

describe("random files (random_rows.py)", () => {
  it.each(["parquet", "csv", "jsonl"])(
    "of %s have the rows that Python reads, or are refused",
    async (format) => {
      let [count, all] = [0, 0];
      const different: string[] = [];
      const refused = new Map<string, number>();
      for await (const [path, expected] of files(format)) {
        count++;
        const { equal, refusals } = await compareRows(path, expected).catch((error: Error) => {
          different.push(error.message);
          return { equal: 0, refusals: [] };
        });
        all += equal;
        for (const refusal of refusals) {
          expect(refusal).toMatch(/; \w/);
          const kind = refusal.replace(/"([^"\\]|\\.)*"|column [^:]*|-?\d[\d.]*/g, "…").slice(0, 110);
          refused.set(kind, (refused.get(kind) ?? 0) + 1);
        }
      }
      if (process.env["MP_RANDOM_ROWS"] !== undefined)
        console.log(
          `${count} files, ${all} readings are Python's, refused:`,
          [...refused].sort(([, a], [, b]) => b - a).slice(0, 20),
        );
      expect(different).toEqual([]);
      expect(count).toBeGreaterThan(15);
      expect(all).toBeGreaterThan(count / 2);
    },
  );

  it("differ where a value, a name or a row differs", async () => {
    for await (const [path, { columns = [], rows = [] }] of files("parquet")) {
      if (rows.length < 2) continue;
      for (const expected of [
        { columns: [...columns.slice(1), "other"], rows },
        { columns, rows: rows.slice(1) },
        { columns, rows: [...rows, rows[0]] },
        { columns, rows: rows.map(() => columns.map(() => "other")) },
        { error: "unreadable" },
      ])
        await expect(compareRows(path, expected)).rejects.toThrow(/must be|more rows/);
      break;
    }
  });
});
