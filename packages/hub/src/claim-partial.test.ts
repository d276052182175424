import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { rename } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ownName } from "@mp/wheels/publish";
import { afterEach, beforeEach, expect, it } from "vitest";
import { claimPartial, leavePartial } from "./claim-partial.js";

let folder: string;
let final: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "mp-partial-"));
  final = join(folder, "blob");
});
afterEach(() => rmSync(folder, { recursive: true }));

it("lets one of many that look at the same moment begin, and the others find its file", async () => {
  let claims = 0;
  const download = async () => {
    const partial = await claimPartial(final);
    if (partial === undefined) return;
    claims += 1;
    await new Promise(setImmediate);
    await rename(partial, final);
  };
  await Promise.all(Array.from({ length: 8 }, download));
  expect(claims).toBe(1);
  expect(readdirSync(folder)).toEqual(["blob"]);
});

it("goes on with the largest of the files that others left, which then counts as live", async () => {
  const dead = ownName().replace(/-\d+-/, "-999999999-");
  for (const [owner, text] of [
    ["left", "123"],
    [dead, "12345"],
    [`${dead}1`, ""],
  ] as const) {
    writeFileSync(`${final}.${owner}.incomplete`, text);
    utimesSync(`${final}.${owner}.incomplete`, 1000, 1000);
  }
  const partial = (await claimPartial(final)) as string;
  expect(readFileSync(partial, "utf8")).toBe("12345");
  expect(readdirSync(folder)).toHaveLength(1);
  let second: Promise<string | undefined> | undefined;
  const because = await new Promise((resolve) => {
    second = claimPartial(final, { onPause: (pause) => resolve(pause.because) });
  });
  expect(because).toBe("another process downloads the same file");
  const reason = new Error("enough");
  const third = claimPartial(final, { signal: AbortSignal.abort(reason) });
  await expect(third).rejects.toBe(reason);
  await leavePartial(partial, final);
  expect(readFileSync((await second) as string, "utf8")).toBe("12345");
});
