import type { Ranks } from "@mp/graph";
import { describe, expect, it } from "vitest";
import { inProcessRanks, runRanksConformance } from "../src/index.js";
import { exchangeFaults } from "./wrong-ranks/exchange-faults.js";
import { rankFaults } from "./wrong-ranks/faults.js";

const faults = [...rankFaults, ...exchangeFaults];

/** The failures of each case, over all ranks. */
async function failuresOf(job: readonly Ranks[]): Promise<ReadonlyMap<string, readonly string[]>> {
  const all = await Promise.all(job.map((rank) => runRanksConformance(rank, { timeoutMs: 290_000 })));
  const ids = (all[0] ?? []).map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  const failures = ids.map((id, at) => [id, all.flatMap((outcomes) => outcomes[at]?.failure ?? [])] as const);
  return new Map(failures.filter(([, messages]) => messages.length > 0));
}

describe("ranks of one process", () => {
  it.each([1, 2, 3, 5])("pass with %d ranks", async (size) => {
    expect([...(await failuresOf(inProcessRanks(size)))]).toEqual([]);
  });
});

describe("a wrong communicator fails the cases that name its fault, and no others", () => {
  it.each(faults)("$fault", async ({ make, size, fails }) => {
    const failures = await failuresOf(make(inProcessRanks(size)));
    expect([...failures.keys()].sort(), JSON.stringify([...failures])).toEqual([...fails].sort());
  });

  it("which every case does for one of them at least", async () => {
    const [outcomes = []] = await Promise.all(inProcessRanks(1).map((rank) => runRanksConformance(rank)));
    const found = new Set(faults.flatMap(({ fails }) => fails));
    expect(outcomes.map(({ id }) => id).filter((id) => !found.has(id))).toEqual([]);
  });

  it("and one that never answers, after a limit", async () => {
    const silent = { ...(inProcessRanks(1)[0] as Ranks), barrier: () => new Promise<void>(() => {}) };
    const outcomes = await runRanksConformance(silent, { timeoutMs: 50 });
    expect(outcomes.find(({ failure }) => failure !== undefined)?.failure).toBe("did not end within 50 ms");
    expect(outcomes.at(-1)?.failure).toMatch(/^not run, since .* did not end$/);
  });
});
