import { float32, ops, sgd, type Tensor, tensor, trainer } from "@mp/core";
import { reference } from "@mp/core/reference";
import { describe, expect, it } from "vitest";
import { bucketBy } from "./bucket-by.js";

const LENGTHS = [1, 7, 3, 4, 8, 2, 5, 3, 6, 1, 8];
/** Token lists; every token of example i is i + 1, so that padding shows. */
const tokens = LENGTHS.map((length, at) => tensor(new Int32Array(length).fill(at + 1), [length]));
const labels = LENGTHS.map((length, at) => tensor(new BigInt64Array(length).fill(BigInt(at)), [length]));
const frames = LENGTHS.map((length, at) => tensor(new Float32Array(2 * length).fill(at), [length, 2]));
const id = tensor(Int32Array.from(LENGTHS, (_, at) => at));

async function all<B>(batches: AsyncIterable<B>): Promise<B[]> {
  const seen: B[] = [];
  for await (const batch of batches) seen.push(batch);
  return seen;
}

describe("bucketBy", () => {
  it("pads each example to the first bucket that it fits into", async () => {
    const options = { buckets: [4, 8], batch: 2, padding: { labels: -1 }, partial: "keep" } as const;
    const seen = await all(bucketBy({ tokens, labels, frames, id }, options));
    expect(seen.map((batch) => [...batch.id.data])).toEqual([[0, 2], [3, 5], [7, 9], [1, 4], [6, 8], [10]]);
    expect(seen.map((batch) => batch.tokens.shape)).toEqual([
      [2, 4],
      [2, 4],
      [2, 4],
      [2, 8],
      [2, 8],
      [1, 8],
    ]);
    expect([...(seen[0]?.tokens.data ?? [])]).toEqual([1, 0, 0, 0, 3, 3, 3, 0]);
    expect([...(seen[0]?.labels.data ?? [])]).toEqual([0n, -1n, -1n, -1n, 2n, 2n, 2n, -1n]);
    expect(seen[0]?.frames.shape).toEqual([2, 4, 2]);
    expect([...(seen[0]?.frames.data ?? [])].slice(8)).toEqual([2, 2, 2, 2, 2, 2, 0, 0]);
  });

  it("gives each example once in a pass, in an order of its own, and resumes it from any cursor", async () => {
    const options = {
      buckets: [3, 5, 8],
      batch: 2,
      shuffle: { seed: 4 },
      epochs: 2,
      partial: "pad",
    } as const;
    const data = bucketBy({ tokens, id }, options);
    const seen = await all(data);
    const half = seen.length / 2;
    const idsOf = (batches: typeof seen) =>
      batches.flatMap(({ id, weights }) => [...id.data].filter((_, row) => weights.data[row] === 1));
    for (const epoch of [seen.slice(0, half), seen.slice(half)]) {
      expect(idsOf(epoch).sort((a, b) => a - b)).toEqual([...id.data]);
    }
    expect(idsOf(seen.slice(0, half))).not.toEqual(idsOf(seen.slice(half)));
    expect(new Set(seen.map((batch) => batch.tokens.shape.join()))).toEqual(new Set(["2,3", "2,5", "2,8"]));
    const iterator = data.iterate();
    for (let at = 0; at < seen.length; at++) {
      const rest = { [Symbol.asyncIterator]: () => data.iterate(iterator.cursor) };
      expect(await all(rest)).toEqual(seen.slice(at));
      await iterator.next();
    }
    const other = bucketBy({ tokens, id }, { ...options, buckets: [3, 8] });
    expect(() => other.iterate(iterator.cursor)).toThrow("the cursor belongs to other data");
  });

  it("says what it leaves out", async () => {
    const data = bucketBy({ tokens, id }, { buckets: [4, 7], batch: 2, tooLong: "drop" });
    // Two examples are too long, and one of the second bucket's three does not fill a batch.
    expect(data.dropped).toBe(3);
    expect((await all(data)).flatMap((batch) => [...batch.id.data])).toEqual([0, 2, 3, 5, 7, 9, 1, 6]);
  });

  it("trains, with one program for each bucket", async () => {
    const warnings: string[] = [];
    await using training = await trainer({
      backend: await reference(),
      params: { w: tensor(Float32Array.of(0), []) },
      loss: ({ w }, { frames }: { frames: Tensor }) =>
        ops.reduceMean(ops.mul(ops.sub(frames, w), ops.sub(frames, w))),
      optimizer: sgd({ learningRate: 0.1 }),
      precision: float32(),
      onWarning: ({ message }) => warnings.push(message),
    });
    const data = bucketBy({ frames }, { buckets: [4, 8], batch: 2, shuffle: { seed: 1 } });
    expect(await training.fit(data, { epochs: 3 })).toMatchObject({ steps: 15 });
    expect(warnings).toEqual([]);
  });

  it("says what does not fit", () => {
    const options = { buckets: [4, 8], batch: 2 };
    const fails = (call: () => unknown, message: string) => expect(call).toThrow(`bucketBy: ${message}`);
    fails(() => bucketBy({ tokens }, { ...options, buckets: [8, 4] }), "buckets must be ascending lengths");
    fails(
      () => bucketBy({ tokens }, { ...options, buckets: [4, 7] }),
      'example 4 has length 8, and the last bucket 7; add a bucket, or pass tooLong: "drop"',
    );
    fails(() => bucketBy({ tokens }, { ...options, batch: 20 }), "no bucket has the 20 examples of a batch");
    fails(() => bucketBy({ id }, options), "takes at least one list of sequences by name");
    fails(
      () => bucketBy({ tokens, id: tensor(new Int32Array(3)) }, options),
      "tokens has 11 examples and id has 3",
    );
    fails(
      () => bucketBy({ tokens: [...tokens, labels[0]] } as never, options),
      "tokens[11] is i64 [1], and the first",
    );
    fails(() => bucketBy({ tokens: [3] } as never, options), "tokens[0] must be a tensor of the host, got 3");
    fails(() => bucketBy({ tokens, weights: id }, { ...options, partial: "pad" }), 'with partial: "pad"');
  });
});
