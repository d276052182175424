import { tensor } from "@mp/core";
import { describe, expect, it } from "vitest";
import { arrayDataset } from "./array-dataset.js";
import { mapDataset } from "./dataset.js";

const x = tensor(
  Float32Array.from({ length: 20 }, (_, index) => index),
  [10, 2],
);
const y = tensor(Int32Array.from({ length: 10 }, (_, index) => index));

async function labels(options: Parameters<typeof arrayDataset>[1]): Promise<number[][]> {
  const seen: number[][] = [];
  for await (const batch of arrayDataset({ x, y }, options)) {
    expect([...batch.x.data]).toEqual([...batch.y.data].flatMap((row) => [2 * row, 2 * row + 1]));
    expect(batch.x.shape).toEqual([batch.y.data.length, 2]);
    seen.push([...batch.y.data]);
  }
  return seen;
}

async function all<B>(batches: AsyncIterable<B>): Promise<B[]> {
  const seen: B[] = [];
  for await (const batch of batches) seen.push(batch);
  return seen;
}

describe("arrayDataset", () => {
  it("yields rows in order and drops the last partial batch", async () => {
    expect(await labels({ batch: 4 })).toEqual([
      [0, 1, 2, 3],
      [4, 5, 6, 7],
    ]);
  });

  it("keeps the last partial batch when asked", async () => {
    expect((await labels({ batch: 4, partial: "keep" })).at(-1)).toEqual([8, 9]);
    expect(await labels({ batch: 40, partial: "keep" })).toEqual([[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]]);
  });

  it("pads the last batch by its last example, with weights for every batch", async () => {
    const batches = await all(arrayDataset({ x, y }, { batch: 4, partial: "pad" }));
    expect(batches.map((batch) => [...batch.y.data])).toEqual([
      [0, 1, 2, 3],
      [4, 5, 6, 7],
      [8, 9, 9, 9],
    ]);
    expect(batches.map(({ weights }) => [...weights.data])).toEqual([
      [1, 1, 1, 1],
      [1, 1, 1, 1],
      [1, 1, 0, 0],
    ]);
    expect(batches.at(-1)?.x.shape).toEqual([4, 2]);
    expect([...(batches.at(-1)?.x.data.slice(2) ?? [])]).toEqual([18, 19, 18, 19, 18, 19].slice(0, 6));
    const shuffled = await all(
      arrayDataset({ y }, { batch: 7, partial: "pad", shuffle: { seed: 3 }, epochs: 2 }),
    );
    for (const pass of [shuffled.slice(0, 2), shuffled.slice(2)]) {
      const seen = pass.flatMap((batch) =>
        [...batch.y.data].filter((_, row) => batch.weights.data[row] === 1),
      );
      expect(seen.sort((a, b) => a - b)).toEqual([...y.data]);
    }
    const few = await all(arrayDataset({ y }, { batch: 16, partial: "pad" }));
    expect(few.map(({ weights }) => weights.data.reduce((sum, weight) => sum + weight, 0))).toEqual([10]);
  });

  it("says what it drops, refuses a tensor named weights where it pads, and another dataset's cursor", () => {
    const dropped = (options: Parameters<typeof arrayDataset>[1]) => arrayDataset({ y }, options).dropped;
    expect(dropped({ batch: 4 })).toBe(2);
    expect([
      dropped({ batch: 5 }),
      dropped({ batch: 4, partial: "keep" }),
      dropped({ batch: 4, partial: "pad" }),
    ]).toEqual([0, 0, 0]);
    expect(mapDataset(arrayDataset({ y }, { batch: 4 }), (batch) => batch).dropped).toBe(2);
    expect(() => arrayDataset({ y, weights: y }, { batch: 4, partial: "pad" })).toThrow(
      'arrayDataset: with partial: "pad" the batches get weights',
    );
    expect(() => arrayDataset({ y }, { batch: 4, partial: "fill" as never })).toThrow(
      'arrayDataset: partial must be "drop" or "keep" or "pad"',
    );
    const { cursor } = arrayDataset({ y }, { batch: 5, partial: "pad" }).iterate();
    expect(() => arrayDataset({ y }, { batch: 5, partial: "keep" }).iterate(cursor)).toThrow(
      /belongs to other data/,
    );
  });

  it("shuffles by the seed, differently in every epoch, every example once an epoch", async () => {
    const options = { batch: 5, epochs: 3, shuffle: { seed: 1 } };
    const rows = (await labels(options)).flat();
    const epochs = [rows.slice(0, 10), rows.slice(10, 20), rows.slice(20)];
    for (const epoch of epochs) expect([...epoch].sort((a, b) => a - b)).toEqual([...y.data]);
    expect(new Set(epochs.map(String)).size).toBe(3);
    expect((await labels(options)).flat()).toEqual(rows);
    expect((await labels({ ...options, shuffle: { seed: 2 } })).flat()).not.toEqual(rows);
  });

  it("resumes inside a shuffled epoch", async () => {
    const dataset = arrayDataset({ y }, { batch: 3, epochs: 2, shuffle: { seed: 5 } });
    const rest: number[][] = [];
    const iterator = dataset.iterate();
    await iterator.next();
    const cursor = structuredClone(iterator.cursor);
    for await (const batch of iterator) rest.push([...batch.y.data]);
    const resumed: number[][] = [];
    const fresh = arrayDataset({ y }, { batch: 3, epochs: 2, shuffle: { seed: 5 } });
    for await (const batch of fresh.iterate(cursor)) resumed.push([...batch.y.data]);
    expect(resumed).toEqual(rest);
    expect(() => arrayDataset({ y }, { batch: 3, epochs: 2, shuffle: { seed: 6 } }).iterate(cursor)).toThrow(
      /seed 5.*seed 6/,
    );
    const other = tensor(y.data.toReversed(), y.shape);
    const elsewhere = arrayDataset({ y: other }, { batch: 3, epochs: 2, shuffle: { seed: 5 } });
    expect(() => elsewhere.iterate(cursor)).toThrow(/the cursor belongs to other data/);
  });

  it("takes rows of every storage class", async () => {
    const examples = {
      half: tensor(new Uint16Array([1, 2, 3, 4]), [2, 2], "f16"),
      big: tensor(new BigInt64Array([5n, 6n])),
      flag: tensor(new Uint8Array([1, 0]), [2], "bool"),
    };
    const [first, second] = await all(arrayDataset(examples, { batch: 1 }));
    expect(first?.half).toEqual({ dtype: "f16", shape: [1, 2], data: new Uint16Array([1, 2]) });
    expect(second?.big.data).toEqual(new BigInt64Array([6n]));
    expect(second?.flag.dtype).toBe("bool");
  });

  it("says what does not fit", () => {
    expect(() => arrayDataset({ x, y }, { batch: 11 })).toThrow(
      /batch of 11 is larger than the data, 10 examples/,
    );
    expect(() => arrayDataset({ x, y: tensor(new Int32Array(9)) }, { batch: 1 })).toThrow(
      /x is \[10, 2\] and y is \[9\]/,
    );
    expect(() => arrayDataset({}, { batch: 1 })).toThrow(/no tensors/);
    expect(() => arrayDataset({ x }, { batch: 0 })).toThrow(/≥ 1, got 0/);
    expect(() => arrayDataset({ x }, { batchSize: 2 } as never)).toThrow(
      'arrayDataset: has no option "batchSize"; did you mean batch?',
    );
    expect(() =>
      arrayDataset({ x: tensor(new Float32Array(0), [0, 2]) }, { batch: 1, partial: "keep" }),
    ).toThrow(/0 examples/);
  });
});
