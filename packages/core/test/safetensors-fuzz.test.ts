import { expect, it } from "vitest";
import { fuzzSafetensors } from "./soak/safetensors-fuzz.js";

it("20 000 mutated safetensors files are read or refused with a typed error", () => {
  const statistics = fuzzSafetensors({ count: 20_000, seed: 20_26 });
  const refusals = Object.values(statistics.refused).reduce((sum, n) => sum + n, 0);
  expect(statistics.accepted + refusals).toBe(20_000);
  // A harness whose inputs are all refused for one reason would prove nothing.
  expect(statistics.accepted).toBeGreaterThan(500);
  expect(Object.keys(statistics.refused).length).toBeGreaterThan(12);
  expect(statistics.slowestMs).toBeLessThan(1000);
});

it("is reproducible", () => {
  const { slowestMs: _, ...first } = fuzzSafetensors({ count: 500, seed: 3 });
  expect(fuzzSafetensors({ count: 500, seed: 3 })).toMatchObject(first);
});
