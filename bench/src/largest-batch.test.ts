import { expect, it } from "vitest";
import { largestThatFits } from "./largest-batch.js";

async function searched(first: number, most: number, limit: number) {
  const tried: number[] = [];
  const found = await largestThatFits(first, most, async (batch) => {
    tried.push(batch);
    return batch <= limit;
  });
  return { found, tried };
}

it("doubles until the batch no longer fits, then narrows it down to a sixteenth", async () => {
  const { found, tried } = await searched(128, 65_536, 1400);
  expect(tried.slice(0, 5)).toEqual([128, 256, 512, 1024, 2048]);
  expect(found).toBeLessThanOrEqual(1400);
  expect(found).toBeGreaterThan(1400 * (1 - 1 / 16));
  expect(tried.length).toBeLessThan(11);
});

it("finds a small one exactly, stops at the most that is wanted, and gives 0 where nothing fits", async () => {
  expect((await searched(1, 100, 7)).found).toBe(7);
  expect(await searched(2, 4, 1000)).toEqual({ found: 4, tried: [2, 4] });
  expect(await searched(8, 4, 1000)).toEqual({ found: 4, tried: [4] });
  expect(await searched(2, 64, 1)).toEqual({ found: 0, tried: [2] });
});
