import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { Options } from "./flags.js";
import { BEGIN, END, encodePairs, loadParallelText, PAD, UNKNOWN, Words } from "./parallel-text.js";

const folder = mkdtempSync(join(tmpdir(), "translation-"));
afterAll(() => rmSync(folder, { recursive: true }));
const load = (data: string | undefined, more: Partial<Options> = {}) =>
  loadParallelText({ data, vocab: 100, longest: 5, pairs: 20, testPairs: 4, ...more } as Options);

describe("files", () => {
  it("of two columns are read, one pair in 20 held out, and long pairs left out", async () => {
    const lines = Array.from({ length: 40 }, (_, i) => `Word ${i}.\tmot ${i} .`);
    writeFileSync(join(folder, "all.tsv"), `a b c d e f\tg\n${lines.join("\n")}\n`);
    const { train, test, longest } = await load(join(folder, "all.tsv"));
    expect([train.length, test.length]).toEqual([38, 2]);
    expect(train[0]).toEqual({ source: ["word", "0", "."], target: ["mot", "0", "."] });
    expect(longest).toEqual({ source: 3, target: 3 });
  });

  it("one of each language, with test pairs of their own", async () => {
    writeFileSync(join(folder, "train.source"), "a b\nc\n");
    writeFileSync(join(folder, "train.target"), "A B\r\nC\r\n");
    writeFileSync(join(folder, "test.tsv"), "c a\tc a\n");
    const { train, test, source } = await load(folder);
    expect(train.map(({ target }) => target)).toEqual([["a", "b"], ["c"]]);
    expect(test).toEqual([{ source: ["c", "a"], target: ["c", "a"] }]);
    expect(source.size).toBe(4 + 3);
  });

  it.each([
    ["a\n", "line 1 is not a sentence, a tab and its translation"],
    ["a\tb\tc\n", "line 1 is not a sentence"],
    ["a\tb\n", "has 1 pairs to learn from and 0 to be judged by"],
  ])("that are no pairs are refused: %j", async (content, message) => {
    writeFileSync(join(folder, "wrong.tsv"), content);
    await expect(load(join(folder, "wrong.tsv"))).rejects.toThrow(message);
  });

  it("that are missing, or of different lengths, are refused", async () => {
    await expect(load(join(folder, "none.tsv"))).rejects.toThrow(/none.tsv: cannot be read/);
    writeFileSync(join(folder, "train.target"), "A\n");
    await expect(load(folder)).rejects.toThrow("train.source has 2 lines, train.target 1");
  });
});

it("words have ids by frequency, and those beyond the limit share one", () => {
  const words = new Words([["b", "a", "b", "c"]], 2);
  expect(words.encode(["b", "a", "c"])).toEqual([4, 5, UNKNOWN]);
  expect(words.decode([4, 5, END, 4])).toEqual(["b", "a"]);
});

it("pairs are padded, and the decoder sees what it is to say one place earlier", async () => {
  const text = await load(undefined);
  const { source, seen, said } = encodePairs(text.train, text);
  const [rows, length] = [20, text.longest.target + 1];
  expect([source.shape, seen.shape, said.shape]).toEqual([
    [rows, text.longest.source],
    [rows, length],
    [rows, length],
  ]);
  for (let row = 0; row < rows; row++) {
    const own = [...said.data.subarray(row * length, (row + 1) * length)];
    const end = own.indexOf(END);
    expect([...seen.data.subarray(row * length, row * length + end + 1)]).toEqual([
      BEGIN,
      ...own.slice(0, end),
    ]);
    expect(own.slice(end + 1).every((id) => id === PAD)).toBe(true);
    expect(text.target.decode(own)).toEqual(text.train[row]?.target);
  }
});
