// A pipe would be waited for without end, and a device read without one: every reader refuses both unopened.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { cocoBoxes, mnist, readIdx, readImage } from "../src/index.js";
import { readRange } from "../src/regular-file.js";
import { readTextFile } from "../src/text-file.js";
import { refusal } from "./refusal.js";

const folder = mkdtempSync(join(tmpdir(), "mp-pipes-"));
afterAll(() => rmSync(folder, { recursive: true }));
const pipe = join(folder, "train-images-idx3-ubyte");
execFileSync("mkfifo", [pipe]);

describe.each([pipe, "/dev/zero", folder])("%s", (path) => {
  it.each<[string, () => Promise<unknown>]>([
    ["readIdx", () => readIdx(path)],
    ["cocoBoxes", () => cocoBoxes(path)],
    ["readImage", () => readImage(path, { height: 4, width: 4 })],
    ["a text", () => readTextFile(path)],
  ])("is refused by %s", async (_, read) => {
    const { code, message } = await refusal(read);
    expect(code).toBe("MP_IO");
    expect(message).toMatch(
      /cannot be read, a (pipe, socket or device|directory) and no regular file; name a file$/,
    );
  });
});

it("a folder whose images are a pipe is refused too", async () => {
  expect((await refusal(() => mnist(folder))).message).toContain(pipe);
});

it("a file that ends while it is read is refused", async () => {
  const path = join(folder, "short.parquet");
  writeFileSync(path, "abc");
  expect(await refusal(() => readRange(path, 0, 10))).toMatchObject({
    code: "MP_PARSE",
    message: `${path}: ends before byte 10; download it again`,
  });
});
