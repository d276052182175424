import { setImmediate } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { waitFor } from "./wait.js";

let slept = 0;
vi.mock("node:timers/promises", async (original) => ({
  ...(await original<object>()),
  setTimeout: async () => {
    slept += 1;
    await setImmediate();
  },
}));

const never = (): never => {
  throw new Error("late");
};

describe("waitFor", () => {
  it.each([true, false])("lets the event loop run while it waits (may sleep: %s)", async (maySleep) => {
    let ticks = 0;
    const timer = setInterval(() => ticks++, 1);
    await waitFor({ test: () => ticks > 60, maySleep, timeoutMs: 60_000, onTimeout: never });
    clearInterval(timer);
    expect(ticks).toBeGreaterThan(60);
  });

  it("asks at once, and sleeps only in a long wait that may", async () => {
    const asked = async (maySleep: boolean): Promise<number> => {
      let [time, times] = [0, 0];
      vi.spyOn(performance, "now").mockImplementation(() => (time += 0.1));
      slept = 0;
      await waitFor({ test: () => ++times > 500, maySleep, timeoutMs: 60_000, onTimeout: never });
      vi.restoreAllMocks();
      return slept;
    };
    expect(await asked(false)).toBe(0);
    expect(await asked(true)).toBeGreaterThan(50);
    await waitFor({ test: () => true, maySleep: true, timeoutMs: 1, onTimeout: never });
  });

  it("ends after the limit", async () => {
    const late = waitFor({ test: () => false, maySleep: true, timeoutMs: 30, onTimeout: never });
    await expect(late).rejects.toThrow("late");
  });
});
