import { describe, expect, it } from "vitest";
import { waitFor } from "./wait.js";

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
      let times = 0;
      const end = performance.now() + 150;
      const test = (): boolean => {
        times++;
        return performance.now() > end;
      };
      await waitFor({ test, maySleep, timeoutMs: 60_000, onTimeout: never });
      return times;
    };
    expect(await asked(true)).toBeLessThan((await asked(false)) * 0.8);
    await waitFor({ test: () => true, maySleep: true, timeoutMs: 1, onTimeout: never });
  });

  it("ends after the limit", async () => {
    const late = waitFor({ test: () => false, maySleep: true, timeoutMs: 30, onTimeout: never });
    await expect(late).rejects.toThrow("late");
  });
});
