import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { textCorpus } from "./package-prose.js";
import { pennTreebank } from "./penn-treebank.js";
import type { TextCorpus } from "./text-corpus.js";
import { readText } from "./text-folder.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "mp-text-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(path: string, content: string | Uint8Array): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), content);
}

const textOf = (corpus: TextCorpus, part: "train" | "valid" | "test"): string =>
  [...corpus[part]].map((token) => corpus.words[token]).join(" ");

const everything = (corpus: TextCorpus): string =>
  (["train", "valid", "test"] as const)
    .map((part) => textOf(corpus, part))
    .filter((text) => text !== "")
    .join(" ");

describe("pennTreebank", () => {
  const files = (prefix: string): void => {
    write(`${prefix}ptb.train.txt`, " aer banknote <unk> N \n no it was n't \n");
    write(`${prefix}ptb.valid.txt`, " consumers may want \n");
    write(`${prefix}ptb.test.txt`, " no it was");
  };

  it("reads the three files as they are, a sentence a line", async () => {
    files("");
    const corpus = await pennTreebank(folder);
    expect(textOf(corpus, "train")).toBe("aer banknote <unk> N <eos> no it was n't <eos>");
    expect(textOf(corpus, "valid")).toBe("consumers may want <eos>");
    expect(textOf(corpus, "test")).toBe("no it was <eos>");
    expect(corpus.sources.map(({ words }) => words)).toEqual([8, 3, 3]);
    expect(corpus.tokens).toBe(18);
  });

  it("finds them where the tarball unpacks them, also through readText", async () => {
    files("simple-examples/data/");
    expect((await pennTreebank(folder)).sha256).toBe((await readText(folder)).sha256);
  });

  it("names a missing and an empty file", async () => {
    files("");
    rmSync(join(folder, "ptb.valid.txt"));
    await expect(readText(folder)).rejects.toMatchObject({
      code: "MP_IO",
      details: { path: join(folder, "ptb.valid.txt") },
    });
    write("ptb.valid.txt", "\n \n");
    await expect(readText(folder)).rejects.toMatchObject({
      code: "MP_INVALID_ARGUMENT",
      details: { path: join(folder, "ptb.valid.txt") },
    });
  });
});

describe("readText", () => {
  it("reads .txt and .md files below the folder in a fixed order and nothing else", async () => {
    write("b.txt", "Second file.");
    write("a/z.md", "# Title\n\nThe first file is Markdown.\n");
    write("node_modules/x/readme.md", "Not this one, it is a package.");
    write(".git/notes.txt", "Not this one, it is hidden.");
    write("c.json", '"Not this one either."');
    write("empty.txt", "");
    const corpus = await readText(folder);
    expect(everything(corpus)).toBe("the first file is markdown . <eos> second file . <eos>");
    expect(corpus.sources).toEqual([
      { name: "a/z.md", words: 6 },
      { name: "b.txt", words: 3 },
      { name: "empty.txt", words: 0 },
    ]);
  });

  it("joins wrapped lines and ends sentences at full stops and blank lines", async () => {
    write("a.txt", "One sentence over\ntwo lines. Another\n\nA title\n\nThe end");
    expect(everything(await readText(folder))).toBe(
      "one sentence over two lines . <eos> another <eos> a title <eos> the end <eos>",
    );
  });

  it("reads one giant line as it would read the same text in lines", async () => {
    const sentence = "The quick brown fox jumps over the lazy dog. ";
    write("a.txt", sentence.repeat(20_000));
    const corpus = await readText(folder);
    expect(corpus.tokens).toBe(20_000 * 11);
    expect(corpus.words).toHaveLength(10);
    const wrapped = mkdtempSync(join(tmpdir(), "mp-text-"));
    writeFileSync(join(wrapped, "a.txt"), sentence.replaceAll(" ", "\n").repeat(20_000));
    expect((await readText(wrapped)).sha256).toBe(corpus.sha256);
    rmSync(wrapped, { recursive: true });
  });

  it("splits 90/5/5 in blocks that hold whole sentences and cover all of the text", async () => {
    const sentences = Array.from({ length: 4_000 }, (_, index) => `W${index} x y z.`);
    write("a.txt", sentences.join("\n"));
    const corpus = await readText(folder);
    const seen = (["train", "valid", "test"] as const).map(
      (part) => textOf(corpus, part).split(" <eos>").length - 1,
    );
    expect(seen).toEqual([3600, 200, 200]);
    const held =
      textOf(corpus, "valid")
        .match(/w\d+/g)
        ?.map((word) => Number(word.slice(1))) ?? [];
    expect(Math.min(...held)).toBeLessThan(400);
    expect(Math.max(...held)).toBeGreaterThan(3600);
    const all = everything(corpus).match(/w\d+/g) ?? [];
    expect(new Set(all).size).toBe(4_000);
  });

  it("hashes what a model would see", async () => {
    write("a.txt", "The same text.");
    const { sha256 } = await readText(folder);
    expect(sha256).toMatch(/^[0-9a-f]{64}$/);
    write("a.txt", "The   SAME\r\ntext.");
    expect((await readText(folder)).sha256).toBe(sha256);
    write("a.txt", "The same texts.");
    expect((await readText(folder)).sha256).not.toBe(sha256);
  });

  it("says what is wrong with the folder", async () => {
    await expect(readText(join(folder, "none"))).rejects.toMatchObject({ code: "MP_IO" });
    await expect(readText(join(folder, "none"))).rejects.toThrow(
      /none: cannot be read, there is nothing; check the path/,
    );
    await expect(readText(folder)).rejects.toThrow(/nor any \.txt or \.md file/);
    write("a.txt", "");
    await expect(readText(folder)).rejects.toMatchObject({ code: "MP_INVALID_ARGUMENT" });
    await expect(readText(join(folder, "a.txt"))).rejects.toThrow(
      /cannot be read, ENOTDIR; a part of the path is a file/,
    );
    write("a.txt", new Uint8Array([0x41, 0xff, 0xfe]));
    await expect(readText(folder)).rejects.toMatchObject({ code: "MP_PARSE" });
    write("a.txt", new Uint8Array([0xff, 0xfe, 0x41, 0x00]));
    expect(everything(await readText(folder))).toBe("a <eos>");
  });

  it("follows links to files and ignores broken ones and loops", async () => {
    write("real/text", "A file behind a link.");
    symlinkSync(join(folder, "real/text"), join(folder, "link.txt"));
    symlinkSync(join(folder, "nowhere"), join(folder, "broken.txt"));
    symlinkSync(folder, join(folder, "real/loop"));
    expect((await readText(folder)).sources).toEqual([{ name: "link.txt", words: 6 }]);
  });
});

describe("textCorpus", () => {
  const from = (): string => pathToFileURL(join(folder, "app/src/main.js")).href;
  const install = (name: string, files: Record<string, string>): void => {
    write(`app/node_modules/${name}/package.json`, JSON.stringify({ name, version: "1.2.3", exports: {} }));
    for (const [path, content] of Object.entries(files)) write(`app/node_modules/${name}/${path}`, content);
  };

  it("reads the packages in the order given, each paragraph once, whatever their exports hide", async () => {
    install("one", {
      "docs/b.md": "Said in both of the packages.\n\nSaid by the first package only.",
      "docs/CHANGELOG.md": "Changes are not prose of interest.",
      "readme.md": "Not below the directory that was asked for.",
    });
    install("@scope/two", {
      "index.d.ts": "/** Said in both of the packages.\n * @param x Said of the second one's parameter. */",
    });
    const corpus = await textCorpus({
      from: from(),
      packages: [{ name: "one", directory: "docs" }, { name: "@scope/two" }],
    });
    expect(everything(corpus)).toBe(
      "said in both of the packages . <eos> said by the first package only . <eos> said of the second one 's parameter . <eos>",
    );
    expect(corpus.sources).toEqual([
      { name: "one", version: "1.2.3", words: 14 },
      { name: "@scope/two", version: "1.2.3", words: 8 },
    ]);
  });

  it("names a package that is not installed and one without documentation", async () => {
    await expect(textCorpus({ from: from(), packages: [{ name: "absent" }] })).rejects.toMatchObject({
      code: "MP_IO",
      details: { package: "absent" },
    });
    install("bare", { "index.js": "" });
    await expect(textCorpus({ from: from(), packages: [{ name: "bare" }] })).rejects.toMatchObject({
      code: "MP_IO",
    });
    await expect(
      textCorpus({ from: from(), packages: [{ name: "bare", directory: "docs" }] }),
    ).rejects.toMatchObject({ code: "MP_IO" });
  });
});
