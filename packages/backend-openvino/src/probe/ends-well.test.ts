import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { endsWell } from "./ends-well.js";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "mp-ends-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

it.each([
  ["process.exitCode = process.argv[2] === 'given' ? 0 : 3", true],
  ["process.kill(process.pid, 'SIGSEGV'); setInterval(() => {}, 1000)", false],
  ["process.abort()", false],
  ["process.kill(process.pid, 'SIGINT'); setInterval(() => {}, 1000)", undefined],
  ["process.kill(process.pid, 'SIGKILL'); setInterval(() => {}, 1000)", undefined],
  ["process.exit(3)", undefined],
  ["setInterval(() => {}, 1000)", undefined],
])("tells of %s: %s", async (program, outcome) => {
  const file = join(folder, "program.mjs");
  writeFileSync(file, program);
  // A busy machine takes long to start a process.
  expect(await endsWell(file, ["given"], program.startsWith("setInterval") ? 500 : 20_000)).toBe(outcome);
});

it("cannot say of a program that is not there", async () => {
  expect(await endsWell(join(folder, "missing.mjs"), [], 20_000)).toBeUndefined();
});
