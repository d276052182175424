import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { sourceLine } from "./source-lines.js";

const folder = mkdtempSync(join(tmpdir(), "mp-lines-"));
afterAll(() => rmSync(folder, { recursive: true }));

it("is the line of the source that the map beside a bundle names", () => {
  const bundle = join(folder, "main.js");
  // Line 2, column 3 of the bundle is line 5, column 1 of the source.
  const map = {
    version: 3,
    sources: ["../src/model.ts"],
    names: [],
    mappings: ";EAIA",
    sourcesContent: [""],
  };
  writeFileSync(`${bundle}.map`, JSON.stringify(map));
  expect(sourceLine(`${bundle}:2:3`)).toBe(`${join(folder, "../src/model.ts")}:5:1`);
});

it("is the line itself without a map, and with one that is broken", () => {
  const bundle = join(folder, "broken.js");
  writeFileSync(`${bundle}.map`, "{");
  for (const line of [`${bundle}:2:3`, `${join(folder, "none.js")}:1:1`, "somewhere"])
    expect(sourceLine(line)).toBe(line);
});
