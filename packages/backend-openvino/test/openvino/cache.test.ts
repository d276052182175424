import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { openvino } from "../../src/index.js";
import { NativeRuntime } from "../../src/native/index.js";
import { smallTraining } from "./programs/small-training.mjs";

const PROGRAM = fileURLToPath(new URL("programs/cached-training.mjs", import.meta.url));

let root = "";
let wanted: readonly number[] = [];
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), "mp-cache-"));
  wanted = await trainedApart("first");
});
afterAll(() => rmSync(root, { recursive: true }));
afterEach(() => vi.restoreAllMocks());

/** The losses in a process of its own, whose working directory the folder is relative to. */
async function trainedApart(folder: string): Promise<readonly number[]> {
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, folder], { cwd: root });
  return JSON.parse(stdout) as readonly number[];
}

interface Trained {
  readonly losses: readonly number[];
  /** Whether the library says that it loaded each model from the cache. */
  readonly fromCache: readonly boolean[];
}

async function trainedHere(folder: string): Promise<Trained> {
  const fromCache: boolean[] = [];
  const { compile } = NativeRuntime.prototype;
  vi.spyOn(NativeRuntime.prototype, "compile").mockImplementation(async function (
    this: NativeRuntime,
    ...given
  ) {
    const model = await compile.apply(this, given);
    if (given[1]?.isKept !== false) fromCache.push(model.isFromCache);
    return model;
  });
  const losses = await smallTraining(await openvino({ cache: join(root, folder) }));
  vi.restoreAllMocks();
  return { losses, fromCache };
}

const files = (folder: string, end: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(end))
    .map((name) => join(root, folder, name));

it("loads in a second process what the first compiled", async () => {
  const { losses, fromCache } = await trainedHere("first");
  expect(losses).toEqual(wanted);
  expect(fromCache.length).toBeGreaterThan(1);
  expect(fromCache).not.toContain(false);
});

it("compiles again what is damaged, with the right losses", async () => {
  await trainedApart("damaged");
  const [, largest] = files("damaged", ".blob")
    .map((file) => [readFileSync(file).length, file] as const)
    .reduce((one, other) => (one[0] > other[0] ? one : other));
  const bytes = readFileSync(largest);
  for (let at = 4096; at < bytes.length; at += 997) bytes.writeUInt8(bytes.readUInt8(at) ^ 0x55, at);
  rmSync(largest);
  writeFileSync(largest, bytes);
  const first = await trainedHere("damaged");
  expect(first.losses).toEqual(wanted);
  expect(first.fromCache.filter((isFromCache) => !isFromCache)).toHaveLength(1);
  expect((await trainedHere("damaged")).fromCache).not.toContain(false);
});

it("is filled by two processes at once", async () => {
  expect(await Promise.all([trainedApart("two"), trainedApart("two")])).toEqual([wanted, wanted]);
  const { losses, fromCache } = await trainedHere("two");
  expect(losses).toEqual(wanted);
  expect(fromCache).not.toContain(false);
});

it("is usable after a process was killed while it compiled", async () => {
  for (const milliseconds of [0, 15, 60]) {
    const folder = `killed ${milliseconds}`;
    const child = spawn(process.execPath, [PROGRAM, folder, "wait"], { cwd: root, stdio: "ignore" });
    const ended = once(child, "exit");
    const isBegun = (): boolean => {
      try {
        return readdirSync(join(root, folder)).length > 0;
      } catch {
        return false;
      }
    };
    while (!isBegun() && child.exitCode === null) await setTimeout(1);
    await setTimeout(milliseconds);
    child.kill("SIGKILL");
    expect((await ended)[1]).toBe("SIGKILL");
    expect(await trainedApart(folder)).toEqual(wanted);
    const { losses, fromCache } = await trainedHere(folder);
    expect(losses).toEqual(wanted);
    expect(fromCache).not.toContain(false);
  }
});

it("must be a folder that can be made", async () => {
  writeFileSync(join(root, "file"), "");
  await expect(openvino({ cache: join(root, "file") })).rejects.toMatchObject({ code: "MP_IO" });
});
