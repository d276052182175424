import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { manifestOf } from "../../../../graph/test/test-manifest.js";
import { breather } from "./event-loop.js";

let time = 0;
beforeEach(() => {
  vi.spyOn(performance, "now").mockImplementation(() => time);
  vi.spyOn(Date, "now").mockImplementation(() => time);
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

/** Whether other tasks run within five waits of a loop that computes without end. */
async function othersRun(missing: readonly string[]): Promise<boolean> {
  let others = false;
  setImmediate(() => {
    others = true;
  });
  for (const name of missing) vi.stubGlobal(name, undefined);
  const breathe = breather(manifestOf());
  for (let turn = 0; turn < 5; turn++) {
    time += 10;
    await breathe();
  }
  return others;
}

it.each([
  ["Node", []],
  ["a browser", ["setImmediate"]],
  ["an engine with timers alone", ["setImmediate", "MessageChannel"]],
] as const)("lets the event loop turn in %s", async (_, missing) => {
  expect(await othersRun(missing)).toBe(true);
});

it("waits for nothing in an engine without an event loop", async () => {
  expect(await othersRun(["setImmediate", "MessageChannel", "setTimeout", "performance"])).toBe(false);
});

it("does not wait where little time has passed", () => {
  const breathe = breather(manifestOf());
  time += 7;
  expect(breathe()).toBeUndefined();
});
