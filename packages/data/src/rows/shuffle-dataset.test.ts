import type { Json } from "@mp/core/fit";
import fc from "fast-check";
import { expect, it } from "vitest";
import { type Dataset, indexedDataset } from "../dataset.js";
import { shuffleDataset } from "./shuffle-dataset.js";

const numbers = (count: number): Dataset<number> =>
  indexedDataset({ signature: "numbers", batchesPerEpoch: count, batch: ({ index }) => index });

async function all<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const seen: T[] = [];
  for await (const row of rows) seen.push(row);
  return seen;
}

const copied = (cursor: Json): Json => JSON.parse(JSON.stringify(cursor));

it("gives each example once, at most the buffer's size too early, and resumes anywhere", async () => {
  const size = fc.integer({ min: 1, max: 30 });
  await fc.assert(
    fc.asyncProperty(
      size,
      size,
      fc.integer({ min: 0, max: 3 }),
      fc.integer(),
      async (count, buffer, pass, seed) => {
        const data = shuffleDataset(numbers(count), { buffer, seed });
        const iterator = data.iterate(undefined, pass);
        const cursors = [copied(iterator.cursor)];
        const order: number[] = [];
        for await (const value of iterator) {
          order.push(value);
          cursors.push(copied(iterator.cursor));
        }
        expect([...order].sort((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, at) => at));
        for (const [at, value] of order.entries()) expect(value).toBeLessThan(at + buffer);
        for (const [at, cursor] of cursors.entries()) {
          const resumed = data.iterate(cursor);
          expect(copied(resumed.cursor)).toEqual(cursor);
          expect(await all(resumed)).toEqual(order.slice(at));
        }
      },
    ),
    { numRuns: 100 },
  );
});

it("gives each pass an order of its own, near and far", async () => {
  const data = shuffleDataset(numbers(2000), { buffer: 100, seed: 1 });
  const [first, second] = [await all(data.iterate(undefined, 0)), await all(data.iterate(undefined, 1))];
  expect(first).not.toEqual(second);
  expect(await all(data)).toEqual(first);
  // An example stays in a buffer of 100 for 100 draws on average, so it comes near its original position.
  const moved = first.map((value, at) => at - value);
  expect(Math.max(...moved)).toBeGreaterThan(300);
  expect(Math.abs(moved.reduce((sum, by) => sum + Math.abs(by), 0) / 2000 - 75)).toBeLessThan(15);
});

it("stands at the last example handed out where the data fails, and goes on from there", async () => {
  let fails = true;
  const data = shuffleDataset(
    indexedDataset({
      signature: "failing",
      batchesPerEpoch: 20,
      batch: ({ index }) => {
        if (fails && index === 11) throw new Error("gone");
        return index;
      },
    }),
    { buffer: 5, seed: 3 },
  );
  const iterator = data.iterate();
  const seen: number[] = [];
  await expect(async () => {
    for await (const value of iterator) seen.push(value);
  }).rejects.toThrow("gone");
  fails = false;
  expect([...seen, ...(await all(data.iterate(copied(iterator.cursor))))]).toEqual(await all(data));
});

it("refuses cursors of other buffers and of no place", async () => {
  const data = shuffleDataset(numbers(9), { buffer: 3, seed: 1 });
  const iterator = data.iterate();
  await iterator.next();
  const cursor = copied(iterator.cursor) as { readonly [name: string]: Json };
  const other = shuffleDataset(numbers(9), { buffer: 4, seed: 1 });
  expect(() => other.iterate(cursor)).toThrow("the cursor belongs to other data");
  for (const wrong of [
    { indices: [1, 2, 3, 4] },
    { indices: "1" },
    { drawn: -1 },
    { first: 0.5 },
    { pass: null },
  ]) {
    expect(() => data.iterate({ ...cursor, ...wrong })).toThrow("not a cursor of a dataset");
  }
  await expect(all(data.iterate({ ...cursor, drawn: 900 }))).rejects.toThrow("not a cursor of a dataset");
  expect(() => shuffleDataset([1, 2] as never, { buffer: 1, seed: 1 })).toThrow("dataset must be a dataset");
});
