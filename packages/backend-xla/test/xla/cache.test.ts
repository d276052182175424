import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { trainInProcess } from "../../../core/test/soak/training-process.js";
import { Client } from "../../src/pjrt/index.js";
import { COUNTING, counting, f32, flag, products } from "./graphs.js";
import { open } from "./open.js";

const CHILD = fileURLToPath(new URL("../../../core/test/soak/training-child.mjs", import.meta.url));
/** Arguments of Node: the process waits to be killed when its work is done. */
const WAITS = ["--import", "data:text/javascript,setInterval(() => {}, 1000)"];

let root = "";
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "mp-xla-cache-"));
});
afterAll(() => rmSync(root, { recursive: true }));
afterEach(() => vi.restoreAllMocks());

/** Runs a program with donated state twice. Returns the state's values, and how many programs were compiled. */
async function counted(folder: string, devices = 1): Promise<readonly number[]> {
  // The probe asks once in a process, and keeps nothing.
  await (await open()).dispose();
  const compile = vi.spyOn(Client.prototype, "compile");
  const backend = await open({ devices, cache: join(root, folder) });
  const state = await backend.createState({ vector: f32(1, 2), count: f32(0) });
  const executable = await backend.compile(counting(2), { state, ...COUNTING });
  for (let step = 0; step < 2; step++) await executable.run({ x: f32(10, 20), applied: flag(true) });
  const { vector, count } = await state.read();
  await backend.dispose();
  const compiled = compile.mock.calls.length;
  compile.mockRestore();
  return [...[vector, count].flatMap((value) => [...((value?.data as Float32Array) ?? [])]), compiled];
}

it("keeps what it has compiled, and runs it later", async () => {
  expect(await counted("kept")).toEqual([21, 42, 2, 1]);
  expect(await counted("kept")).toEqual([21, 42, 2, 0]);
  expect(readdirSync(join(root, "kept"))).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/)]);
});

it("keeps programs by the number of devices", async () => {
  for (const devices of [1, 2]) {
    expect(await counted("devices", devices)).toEqual([21, 42, 2, 1]);
    expect(await counted("devices", devices)).toEqual([21, 42, 2, 0]);
  }
});

it("compiles again what is damaged", async () => {
  await counted("damaged");
  const [name = ""] = readdirSync(join(root, "damaged"));
  const file = join(root, "damaged", name);
  const whole = readFileSync(file);
  for (const damaged of [whole.subarray(0, 1000), whole.with(whole.length >> 1, 7), Buffer.alloc(0)]) {
    writeFileSync(file, damaged);
    expect(await counted("damaged")).toEqual([21, 42, 2, 1]);
    expect(await counted("damaged")).toEqual([21, 42, 2, 0]);
  }
});

it("compiles again what is the file of another program", async () => {
  await counted("foreign");
  const [name = ""] = readdirSync(join(root, "foreign"));
  const backend = await open({ cache: join(root, "foreign") });
  await (await backend.compile(products(2, 1))).dispose();
  await backend.dispose();
  const [other = ""] = readdirSync(join(root, "foreign")).filter((each) => each !== name);
  copyFileSync(join(root, "foreign", other), join(root, "foreign", name));
  expect(await counted("foreign")).toEqual([21, 42, 2, 1]);
  expect(await counted("foreign")).toEqual([21, 42, 2, 0]);
});

it("compiles again what the plugin refuses", async () => {
  await counted("refused");
  vi.spyOn(Client.prototype, "load").mockRejectedValue(new Error("of another version"));
  expect(await counted("refused")).toEqual([21, 42, 2, 1]);
});

it("is usable after a process was killed while it wrote", async () => {
  const train = (folder: string) => {
    mkdirSync(join(root, folder));
    return { backend: "xla with a cache", path: join(root, folder, "run"), steps: 2, task: "save" } as const;
  };
  const wanted = await trainInProcess(train("not killed"));
  for (const milliseconds of [0, 5]) {
    const task = train(`killed ${milliseconds}`);
    const given = ["--expose-gc", ...WAITS, CHILD, task.backend, task.path, "2", "save"];
    const child = spawn(process.execPath, given, { stdio: "ignore" });
    const ended = once(child, "exit");
    const programs = join(task.path, "../programs");
    const isBegun = (): boolean => existsSync(programs) && readdirSync(programs).length > 0;
    while (!isBegun() && child.exitCode === null) await setTimeout(1);
    await setTimeout(milliseconds);
    child.kill("SIGKILL");
    expect((await ended)[1]).toBe("SIGKILL");
    rmSync(task.path, { force: true });
    expect(await trainInProcess(task)).toEqual(wanted);
  }
});

it("does without a file that cannot be written", async () => {
  const folder = join(root, "closed");
  mkdirSync(folder, { mode: 0o700 });
  const backend = await open({ cache: folder });
  rmSync(folder, { recursive: true });
  const executable = await backend.compile(counting(2));
  await executable.dispose();
  await backend.dispose();
});

it("must be a folder of the user's own", async () => {
  writeFileSync(join(root, "file"), "");
  const shared = join(root, "shared");
  mkdirSync(shared);
  chmodSync(shared, 0o777);
  for (const cache of [join(root, "file"), shared])
    await expect(open({ cache })).rejects.toMatchObject({ code: "MP_IO" });
});
