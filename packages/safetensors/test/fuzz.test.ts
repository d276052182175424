import { expect, it } from "vitest";
import { fuzzSafetensors } from "./soak/fuzz.js";
import { part, seed } from "./soak/size.js";

const COUNT = 1_000_000;
/** Memory limit, far below the sizes that a false header can claim. */
const MEMORY_BYTES = 256 * 2 ** 20;

it("mutated safetensors files are read or refused with a typed error, in bounded memory", () => {
  const count = part(COUNT);
  const before = process.memoryUsage.rss();
  const statistics = fuzzSafetensors({ count, seed });
  const grown = process.memoryUsage.rss() - before;
  console.log(`safetensors fuzz, seed ${seed}: ${JSON.stringify({ ...statistics, grownBytes: grown })}`);
  const refusals = Object.values(statistics.refused).reduce((sum, n) => sum + n, 0);
  expect(statistics.accepted + refusals).toBe(count);
  // A harness whose inputs are all refused for one reason would prove nothing.
  expect(statistics.accepted).toBeGreaterThan(count / 40);
  expect(Object.keys(statistics.refused).length).toBeGreaterThan(12);
  expect(statistics.slowestMs).toBeLessThan(2000);
  expect(grown).toBeLessThan(MEMORY_BYTES);
});

it("is reproducible", () => {
  const { slowestMs: _, ...first } = fuzzSafetensors({ count: 500, seed: 3 });
  expect(fuzzSafetensors({ count: 500, seed: 3 })).toMatchObject(first);
});
