import { afterEach, expect, it, vi } from "vitest";
import { manifestOf } from "../../../test/test-manifest.js";
import { breather } from "./event-loop.js";

afterEach(() => void vi.unstubAllGlobals());

function computeFor(milliseconds: number): void {
  const until = Date.now() + milliseconds;
  while (Date.now() < until);
}

/** Whether anything else runs within five waits of a loop that computes without end. */
async function othersRun(missing: readonly string[]): Promise<boolean> {
  let others = false;
  setImmediate(() => {
    others = true;
  });
  for (const name of missing) vi.stubGlobal(name, undefined);
  const breathe = breather(manifestOf());
  for (let turn = 0; turn < 5; turn++) {
    computeFor(10);
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
  expect(breather(manifestOf())()).toBeUndefined();
});
