import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MpError } from "@mp/core";
import { afterAll, describe, expect, it } from "vitest";
import { readStretches, readWhole } from "./read-text.js";

const folder = mkdtempSync(join(tmpdir(), "mp-read-"));
afterAll(() => rmSync(folder, { recursive: true }));

function file(content: string | Uint8Array): string {
  const path = join(folder, "file.txt");
  writeFileSync(path, content);
  return path;
}

async function stretches(content: string | Uint8Array, separator: "line" | "paragraph"): Promise<string[]> {
  const seen: string[] = [];
  for await (const { text } of readStretches(file(content), separator)) seen.push(text);
  return seen;
}

async function failure(content: Uint8Array): Promise<MpError> {
  const error = await stretches(content, "line").catch((thrown: unknown) => thrown);
  if (!MpError.is(error)) throw new Error(`expected a coded error, got ${String(error)}`);
  return error;
}

describe("readStretches", () => {
  it("reads lines with any line end, the last one with or without", async () => {
    expect(await stretches("a\nb\r\nc\rd", "line")).toEqual(["a", "b", "c", "d"]);
    expect(await stretches("\uFEFFa\r", "line")).toEqual(["a"]);
    expect(await stretches("", "line")).toEqual([]);
  });

  it("reads paragraphs over lines that are blank or hold spaces", async () => {
    expect(await stretches("a\nb\n\nc\n \t\n\n\nd\r\n\r\ne", "paragraph")).toEqual(["a\nb", "c", "d", "e"]);
  });

  it("gives the same pieces wherever a chunk of the file ends", async () => {
    for (let shift = 0; shift < 8; shift++) {
      const head = "x".repeat(65_536 - shift);
      const [first, second, ...more] = await stretches(`${head}é\r\n\r\n日`, "paragraph");
      expect([first === `${head}é`, second, more]).toEqual([true, "日", []]);
    }
  });

  it("cuts one giant line at white space and loses nothing", async () => {
    const line = "some words ".repeat(100_000);
    const pieces: { text: string; complete: boolean }[] = [];
    for await (const piece of readStretches(file(line), "line")) pieces.push(piece);
    expect(pieces.map(({ text }) => text).join("")).toBe(line);
    expect(Math.max(...pieces.map(({ text }) => text.length))).toBeLessThanOrEqual(65_536);
    expect(pieces.map(({ complete }) => complete)).toEqual([
      ...new Array(pieces.length - 1).fill(false),
      true,
    ]);
    for (const { text } of pieces.slice(1)) expect(text.startsWith(" ")).toBe(true);
  });

  it("cuts a giant word without white space, never inside a character", async () => {
    const word = `a${"😀".repeat(100_000)}`;
    const pieces = await stretches(word, "line");
    expect(pieces.join("")).toBe(word);
    for (const piece of pieces) expect(Buffer.from(piece).toString()).toBe(piece);
  });

  it("names the byte that is not UTF-8", async () => {
    const error = await failure(Buffer.concat([Buffer.from("abc"), Buffer.from([0xff]), Buffer.from("def")]));
    expect([error.code, error.details["byte"]]).toEqual(["MP_PARSE", 3]);
    expect(error.message).toContain("file.txt");
    const later = await failure(Buffer.concat([Buffer.alloc(100_000, "a"), Buffer.from([0xc3, 0x28])]));
    expect(later.details["byte"]).toBe(100_001);
    const cut = await failure(Buffer.concat([Buffer.alloc(65_535, "a"), Buffer.from([0xe2, 0x61])]));
    expect(cut.details["byte"]).toBe(65_536);
    expect((await failure(Buffer.from([0x61, 0xe2, 0x82]))).code).toBe("MP_PARSE");
  });

  it("tells a missing file by its path", async () => {
    const missing = join(folder, "missing.txt");
    await expect(readWhole(missing, 10)).rejects.toMatchObject({ code: "MP_IO", details: { path: missing } });
    await expect(readWhole(folder, 10)).rejects.toMatchObject({ code: "MP_IO" });
  });

  it("refuses to hold a file beyond the limit in one string", async () => {
    expect(await readWhole(file("x".repeat(10)), 10)).toBe("x".repeat(10));
    await expect(readWhole(file("x".repeat(11)), 10)).rejects.toMatchObject({ code: "MP_INVALID_ARGUMENT" });
  });
});
