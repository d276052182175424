import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { refusal } from "../test/refusal.js";
import { readTextFile } from "./text-file.js";

const folder = mkdtempSync(join(tmpdir(), "mp-read-"));
afterAll(() => rmSync(folder, { recursive: true }));

function file(content: string | Uint8Array): string {
  const path = join(folder, "file.txt");
  writeFileSync(path, content);
  return path;
}

describe("readTextFile", () => {
  it("reads a text without its byte order mark", async () => {
    expect(await readTextFile(file("\uFEFFa\r\n日"))).toBe("a\r\n日");
    expect(await readTextFile(file(""))).toBe("");
  });

  it.each<[string, Uint8Array[], number]>([
    ["a byte of another encoding", [Buffer.from("abc"), Uint8Array.of(0xff), Buffer.from("def")], 3],
    ["the first byte", [Uint8Array.of(0xff)], 0],
    ["a character that goes on otherwise", [Buffer.alloc(100_000, "a"), Uint8Array.of(0xc3, 0x28)], 100_001],
    ["a character that ends with the file", [Uint8Array.of(0x61, 0xe2, 0x82)], 3],
  ])("names the byte that is not UTF-8: %s", async (_, parts, byte) => {
    const { code, message, details } = await refusal(() => readTextFile(file(Buffer.concat(parts))));
    expect([code, details["byte"]]).toEqual(["MP_PARSE", byte]);
    expect(message).toContain(`file.txt: is not in utf-8 near byte ${byte}; convert it to UTF-8`);
  });

  it("tells a missing file by its path", async () => {
    const path = join(folder, "missing.txt");
    expect(await refusal(() => readTextFile(path))).toMatchObject({ code: "MP_IO", details: { path } });
  });

  it("refuses a file beyond the limit", async () => {
    expect(await readTextFile(file("x".repeat(10)), 10)).toBe("x".repeat(10));
    const { code, message } = await refusal(() => readTextFile(file("x".repeat(11)), 10));
    expect(code).toBe("MP_PARSE");
    expect(message).toMatch(/has 11 bytes, the most is 10; split it/);
  });
});
