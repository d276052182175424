import { backendOf, pointBatch } from "@mp/cli/training";
import type { Backend } from "@mp/core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { simulateWorkers } from "../src/simulate-workers.js";
import { describeSameBits, inOneCall, type Setting, settings } from "./same-bits.js";

describeSameBits("reference");
describeSameBits("ort");

describe("the settings hold what they say", () => {
  let backend: Backend;
  beforeAll(async () => {
    backend = await backendOf({ backend: "reference", device: "cpu" });
  });
  afterAll(() => backend.dispose());
  const run = (setting: Setting) => inOneCall(backend, setting);

  it("an overflow is retried on the same batch, and the scale grows after N updates", async () => {
    const { updates } = await run(settings["overflow, retry and growth"] as Setting);
    expect(updates.every(({ applied }) => applied)).toBe(true);
    expect(updates[0]?.retries).toBeGreaterThan(0);
    const scales = updates.map(({ scale }) => scale);
    expect(scales.filter((scale, i) => scale > (scales[i - 1] ?? scale)).length).toBeGreaterThan(1);
  });

  it("a batch that never fits is skipped after 100 retries", async () => {
    const { updates } = await run(settings["a batch that overflows at every scale"] as Setting);
    expect(updates.map(({ retries }) => retries)).toEqual([0, 0, 0, 0, 100, 0, 0, 0]);
    expect(updates.map(({ applied }) => applied)).toEqual([true, true, true, true, false, true, true, true]);
    // 16 after growth; the 101st overflow divides it once more.
    expect(updates[5]?.scale).toBe(2 ** (4 - 101));
  });

  it("microbatches and workers add up, and are not averaged", async () => {
    const of = (setting: Partial<Setting>) => run({ updates: 1, scale: 8, ...setting });
    const same = () => () => pointBatch(0);
    const doubled = await of({ accumGrad: 2, feeder: same });
    expect(doubled.bits).toEqual((await of({ comm: simulateWorkers(2), feeder: same })).bits);
    expect(doubled.bits).not.toEqual((await of({ feeder: same })).bits);
  });
});
