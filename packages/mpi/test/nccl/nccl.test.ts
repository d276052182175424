/**
 * Tests the binding with a fake NCCL and CUDA, which a C compiler builds here: its calls, its errors, and that it frees
 * everything. No GPU is used, so NCCL itself is not tested.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { inProcessRanks, runRanksConformance } from "@mp/conformance";
import type { Ranks } from "@mp/graph";
import koffi from "koffi";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { type NcclRanks, nccl } from "../../src/nccl/index.js";

const hasCompiler = spawnSync("cc", ["--version"]).status === 0;
const folder = mkdtempSync(join(tmpdir(), "mp-nccl-"));
const library = join(folder, "libnccl-stand-in.so");
const source = fileURLToPath(new URL("stand-in.c", import.meta.url));
const standIn = hasCompiler ? compiled() : undefined;
afterAll(() => rmSync(folder, { recursive: true }));

interface StandIn {
  live(): number;
  aborted(): number;
  set(devices: number, version: number, failCode: number, hangs: number): void;
}

function compiled(): StandIn {
  const { status, stderr } = spawnSync("cc", ["-shared", "-fPIC", "-O1", "-o", library, source], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`cc: ${stderr}`);
  const loaded = koffi.load(library);
  return {
    live: loaded.func("standin_live", "int", []),
    aborted: loaded.func("standin_aborted", "int", []),
    set: loaded.func("standin_set", "void", ["int", "int", "int", "int"]),
  };
}

const VERSION = 22_304;
const options = { library, cudart: library };
const opened = (ranks: Ranks, more = {}): Promise<NcclRanks> =>
  nccl(ranks, { ...options, device: ranks.rank, ...more });
const pair = (more = {}): Promise<NcclRanks[]> =>
  Promise.all(inProcessRanks(2).map((ranks) => opened(ranks, more)));
const errors = async (started: readonly Promise<unknown>[]): Promise<unknown[]> =>
  (await Promise.allSettled(started)).map((one) => (one.status === "rejected" ? one.reason : undefined));
const unavailable = (words: string) =>
  expect.objectContaining({ code: "MP_BACKEND_UNAVAILABLE", message: expect.stringContaining(words) });
const failed = (words: string) =>
  expect.objectContaining({ code: "MP_BACKEND_FAILED", message: expect.stringContaining(words) });

if (!hasCompiler) it.skip("needs a C compiler named cc, for the stand-in of NCCL");

describe.runIf(hasCompiler)("sums by NCCL", () => {
  beforeEach(() => standIn?.set(2, VERSION, 0, 0));
  afterEach(() => expect(standIn?.live()).toBe(0));

  it("meet every claim of the conformance suite", async () => {
    const both = await pair();
    const outcomes = await Promise.all(both.map((ranks) => runRanksConformance(ranks)));
    for (const outcome of outcomes) {
      expect(outcome.length).toBeGreaterThan(5);
      expect(outcome.filter(({ failure }) => failure !== undefined)).toEqual([]);
    }
    await Promise.all(both.map((ranks) => ranks.dispose()));
  });

  it("wait for the GPU with the event loop alive, one sum after the other", async () => {
    const [first, second] = (await pair()) as [NcclRanks, NcclRanks];
    const values = [Float32Array.of(1, 2), Float32Array.of(10, 20), Float32Array.of(5), Float32Array.of(6)];
    const [a, b, c, d] = values as [Float32Array, Float32Array, Float32Array, Float32Array];
    let ticks = 0;
    const timer = setInterval(() => ticks++, 1);
    const early = [first.allReduce(a), first.allReduce(c)];
    await new Promise((resolve) => setTimeout(resolve, 20));
    await Promise.all([...early, second.allReduce(b), second.allReduce(d)]);
    clearInterval(timer);
    expect(ticks).toBeGreaterThan(0);
    expect(values.map((each) => [...each])).toEqual([[11, 22], [11, 22], [11], [11]]);
    await Promise.all([first.dispose(), second.dispose()]);
  });

  it("are refused on all ranks where lengths differ", async () => {
    const both = await pair();
    const started = both.map((ranks) => ranks.allReduce(new Float32Array(2 + ranks.rank)));
    const mismatch = expect.objectContaining({
      code: "MP_RANK_MISMATCH",
      message: expect.stringContaining("rank 0 calls allReduce of 2 values, rank 1 of 3"),
    });
    expect(await errors(started)).toEqual([mismatch, mismatch]);
    await Promise.all(both.map((ranks) => ranks.dispose()));
  });

  it("fail with what NCCL says, then and later", async () => {
    const both = await pair();
    standIn?.set(2, VERSION, 3, 0);
    const words = failed("ncclAllReduce failed with code 3: internal error");
    expect(await errors(both.map((ranks) => ranks.allReduce(new Float32Array(2))))).toEqual([words, words]);
    standIn?.set(2, VERSION, 0, 0);
    expect(await errors(both.map((ranks) => ranks.allReduce(new Float32Array(2))))).toEqual([words, words]);
    await Promise.all(both.map((ranks) => ranks.dispose()));
  });

  it("fail where a GPU does not answer in time, and abort NCCL", async () => {
    const both = await pair({ timeoutMs: 40 });
    standIn?.set(2, VERSION, 0, 1);
    const before = standIn?.aborted() ?? 0;
    const late = failed("was not done within 40 ms (timeoutMs)");
    expect(await errors(both.map((ranks) => ranks.allReduce(new Float32Array(2))))).toEqual([late, late]);
    expect(standIn?.aborted()).toBe(before + 2);
    await Promise.all(both.map((ranks) => ranks.dispose()));
  });

  it("are refused after dispose, which may be called twice", async () => {
    const both = await pair();
    await Promise.all(both.map((ranks) => ranks.allReduce(new Float32Array(3))));
    for (const ranks of both) {
      await ranks.dispose();
      await ranks.dispose();
      await expect(ranks.allReduce(new Float32Array(1))).rejects.toMatchObject({ code: "MP_DISPOSED" });
    }
  });
});

describe.runIf(hasCompiler)("a start that fails on one rank fails on all", () => {
  beforeEach(() => standIn?.set(2, VERSION, 0, 0));
  afterEach(() => expect(standIn?.live()).toBe(0));

  it("without a library", async () => {
    const missing = join(folder, "no-libnccl.so.2");
    const started = inProcessRanks(2).map((ranks) =>
      opened(ranks, ranks.rank === 1 ? { library: missing } : {}),
    );
    expect(await errors(started)).toEqual([
      unavailable("rank 1 cannot take part"),
      unavailable(`${missing} does not load`),
    ]);
  });

  it("without enough GPUs", async () => {
    standIn?.set(1, VERSION, 0, 0);
    expect(await errors(inProcessRanks(2).map((ranks) => opened(ranks)))).toEqual([
      unavailable("rank 1 cannot take part"),
      unavailable("rank 1 needs GPU 1 for itself, and its host has 1"),
    ]);
  });

  it("with an NCCL that is too old", async () => {
    standIn?.set(2, 2_804, 0, 0);
    const old = unavailable("is NCCL 2804, 2.14 or later is needed");
    expect(await errors(inProcessRanks(2).map((ranks) => opened(ranks)))).toEqual([old, old]);
  });

  it("with an option that is no number", async () => {
    for (const ranks of inProcessRanks(1))
      await expect(opened(ranks, { timeoutMs: 0 })).rejects.toMatchObject({ code: "MP_INVALID_ARGUMENT" });
  });
});
