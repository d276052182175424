import { describe, expect, it } from "vitest";
import { type LanguageModelBatch, languageModelBatches } from "./language-model-batches.js";

const count = (length: number): Int32Array => Int32Array.from({ length }, (_, index) => index);
const rows = ({ inputs: { data, shape } }: LanguageModelBatch): number[][] =>
  Array.from({ length: shape[0] ?? 0 }, (_, row) => [
    ...data.slice(row * (shape[1] ?? 0), (row + 1) * (shape[1] ?? 0)),
  ]);

async function all<B>(batches: AsyncIterable<B>): Promise<B[]> {
  const seen: B[] = [];
  for await (const batch of batches) seen.push(batch);
  return seen;
}

describe("languageModelBatches", () => {
  it("reads contiguous streams; every target is the next word", async () => {
    const batches = await all(languageModelBatches(count(23), { batch: 2, sequence: 5 }));
    expect(batches.map(rows)).toEqual([
      [
        [0, 1, 2, 3, 4],
        [11, 12, 13, 14, 15],
      ],
      [
        [5, 6, 7, 8, 9],
        [16, 17, 18, 19, 20],
      ],
    ]);
    for (const { inputs, targets } of batches) {
      expect(inputs.dtype).toBe("i32");
      expect(targets.shape).toEqual([2, 5]);
      expect([...targets.data]).toEqual([...inputs.data].map((word) => word + 1));
    }
  });

  it("asks for a new state at the first batch of every epoch and nowhere else", async () => {
    const batches = await all(languageModelBatches(count(31), { batch: 3, sequence: 5, epochs: 2 }));
    expect(batches.map(({ reset }) => [...reset.data])).toEqual([
      [1, 1, 1],
      [0, 0, 0],
      [1, 1, 1],
      [0, 0, 0],
    ]);
    expect(batches[0]?.reset).toMatchObject({ dtype: "bool", shape: [3, 1] });
  });

  it("drops the shorter last piece, or keeps it", async () => {
    const tokens = count(23);
    const kept = await all(languageModelBatches(tokens, { batch: 2, sequence: 4, partial: "keep" }));
    expect(kept.map(({ inputs }) => inputs.shape[1])).toEqual([4, 4, 3]);
    expect(await all(languageModelBatches(tokens, { batch: 2, sequence: 4 }))).toHaveLength(2);
    expect(
      await all(languageModelBatches(count(3), { batch: 2, sequence: 4, partial: "keep" })),
    ).toHaveLength(1);
  });

  it("resumes in the middle of an epoch without asking for a new state", async () => {
    const dataset = languageModelBatches(count(101), { batch: 4, sequence: 5, epochs: 3 });
    const iterator = dataset.iterate();
    for (let step = 0; step < 7; step++) await iterator.next();
    const resumed = languageModelBatches(count(101), { batch: 4, sequence: 5, epochs: 3 }).iterate(
      iterator.cursor,
    );
    expect(await all(resumed)).toEqual(await all(iterator));
  });

  it("refuses the cursor of other text or sizes", () => {
    const { cursor } = languageModelBatches(count(101), { batch: 4, sequence: 5 }).iterate();
    const changed = count(101).with(50, 7);
    expect(() => languageModelBatches(changed, { batch: 4, sequence: 5 }).iterate(cursor)).toThrow(
      /other data/,
    );
    expect(() => languageModelBatches(count(101), { batch: 2, sequence: 5 }).iterate(cursor)).toThrow(
      /batch 4.*batch 2/,
    );
  });

  it("says how much text a batch needs", () => {
    expect(() => languageModelBatches(count(700), { batch: 20, sequence: 35 })).toThrow(
      /20 streams of 35 words need at least 701 words, the text has 700/,
    );
    expect(() => languageModelBatches(count(701), { batch: 20, sequence: 35 })).not.toThrow();
    expect(() => languageModelBatches(new Int32Array(), { batch: 1, sequence: 1 })).toThrow(/has 0/);
    const claimed = Object.defineProperty(new Float32Array(9), Symbol.toStringTag, { value: "Int32Array" });
    expect(() => languageModelBatches(claimed as unknown as Int32Array, { batch: 1, sequence: 1 })).toThrow(
      /an Int32Array, a part of what encodeCorpus gives/,
    );
    expect(() => languageModelBatches(count(9), { batch: 0, sequence: 1 })).toThrow(
      /batch must be an integer ≥ 1, got 0/,
    );
    expect(() => languageModelBatches(count(9), { batch: 1, sequence: 1.5 })).toThrow(/sequence/);
  });
});
