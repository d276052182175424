import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Runnable, RunPacer } from "./pace.js";

/** The pacer's clock. Only runs advance it, so a busy machine changes nothing. */
let now = 0;
beforeEach(() => {
  vi.spyOn(performance, "now").mockImplementation(() => now);
});
afterEach(() => vi.restoreAllMocks());

/** A runnable that takes the given milliseconds in either mode, and records the modes used. */
function runnable(ms: () => number): Runnable & { readonly ways: string[] } {
  const ways: string[] = [];
  return {
    ways,
    runSync: () => {
      ways.push("sync");
      now += ms();
    },
    runAsync: () => {
      ways.push("async");
      now += Math.max(1, ms());
      return Promise.resolve();
    },
  };
}

describe("RunPacer", () => {
  it("runs the first time on a worker thread, then short runs here", async () => {
    const pacer = new RunPacer();
    expect(pacer.typicalMs).toBeUndefined();
    const work = runnable(() => 0.05);
    // On a worker thread a run of 0.05 ms takes a millisecond or more here, so the first run is requested as sync.
    await pacer.run(work);
    await pacer.run(work, "sync");
    for (let run = 0; run < 3; run++) await pacer.run(work);
    expect(work.ways).toEqual(["async", "sync", "sync", "sync", "sync"]);
  });

  it("moves to a worker thread when all recent runs were long, not after one", async () => {
    const pacer = new RunPacer();
    let ms = 0.01;
    const work = runnable(() => ms);
    await pacer.run(work, "sync");
    ms = 3;
    for (let run = 0; run < 3; run++) await pacer.run(work);
    expect(work.ways).toEqual(["sync", "sync", "sync", "sync"]);
    await pacer.run(work);
    await pacer.run(work);
    expect(work.ways.slice(-1)).toEqual(["async"]);
    expect(pacer.typicalMs).toBeGreaterThan(2);
  });

  it("does as told", async () => {
    const pacer = new RunPacer();
    const work = runnable(() => 0);
    await pacer.run(work, "sync");
    await pacer.run(work, "async");
    expect(work.ways).toEqual(["sync", "async"]);
  });

  it("lets timers fire between short runs that are awaited in a loop", async () => {
    const pacer = new RunPacer();
    const work = runnable(() => 0.1);
    await pacer.run(work, "sync");
    let hasFired = false;
    setImmediate(() => {
      hasFired = true;
    });
    // At most 8 ms of work before other tasks get a turn.
    for (let run = 0; run < 200 && !hasFired; run++) await pacer.run(work);
    expect(hasFired).toBe(true);
    expect(work.ways).not.toContain("async");
  });

  it("passes failures on", async () => {
    const failing: Runnable = {
      runSync: () => {
        throw new Error("sync failed");
      },
      runAsync: () => Promise.reject(new Error("async failed")),
    };
    const pacer = new RunPacer();
    await expect(pacer.run(failing, "sync")).rejects.toThrow("sync failed");
    await expect(pacer.run(failing)).rejects.toThrow("async failed");
    expect(pacer.typicalMs).toBeUndefined();
  });
});
