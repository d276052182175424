import { MpError } from "@mp/core";
import { describe, expect, it } from "vitest";
import { type Dataset, indexedDataset } from "./dataset.js";
import { rankDataset } from "./rank-dataset.js";

const numbers = (batchesPerEpoch: number, epochs = 1): Dataset<number> =>
  indexedDataset({
    signature: "numbers",
    batchesPerEpoch,
    epochs,
    batch: ({ epoch, index }) => 100 * epoch + index,
  });

async function all<B>(batches: AsyncIterable<B>): Promise<B[]> {
  const seen: B[] = [];
  for await (const batch of batches) seen.push(batch);
  return seen;
}

describe("rankDataset", () => {
  it("deals the batches out in turns, as many to each rank", async () => {
    const shares = await Promise.all(
      [0, 1, 2].map((rank) => all(rankDataset(numbers(8), { rank, size: 3 }))),
    );
    expect(shares).toEqual([
      [0, 3],
      [1, 4],
      [2, 5],
    ]);
    expect(await all(rankDataset(numbers(3), { rank: 0, size: 1 }))).toEqual([0, 1, 2]);
    expect(await all(rankDataset(numbers(2), { rank: 1, size: 3 }))).toEqual([]);
  });

  it("has the same cursor on all ranks, from which each goes on as if it had never stopped", async () => {
    const of = (rank: number) => rankDataset(numbers(5, 2), { rank, size: 2 });
    const whole = await Promise.all([0, 1].map((rank) => all(of(rank))));
    for (let taken = 0; taken <= 5; taken++) {
      const begun = [0, 1].map((rank) => of(rank).iterate());
      const seen: number[][] = [[], []];
      for (const [rank, iterator] of begun.entries())
        for (let step = 0; step < taken; step++) seen[rank]?.push((await iterator.next()).value as number);
      const cursors = begun.map(({ cursor }) => JSON.stringify(cursor));
      expect(cursors[1]).toBe(cursors[0]);
      for (const [rank, cursor] of cursors.entries())
        expect([...(seen[rank] ?? []), ...(await all(of(rank).iterate(JSON.parse(cursor))))]).toEqual(
          whole[rank],
        );
    }
  });

  it("gives each pass what the dataset beneath gives it", async () => {
    const second = rankDataset(numbers(4), { rank: 1, size: 2 }).iterate(undefined, 1);
    expect(await all(second)).toEqual([101, 103]);
  });

  it("refuses what is no dataset, and ranks that are none", () => {
    for (const [dataset, rank, size] of [
      [[], 0, 1],
      [numbers(2), 2, 2],
      [numbers(2), -1, 2],
      [numbers(2), 0, 0],
      [numbers(2), 0.5, 2],
    ] as const) {
      const made = () => rankDataset(dataset as Dataset<number>, { rank, size });
      expect(made).toThrow(MpError);
      expect(made).toThrow(/rankDataset: (dataset|rank|size)/);
    }
  });
});
