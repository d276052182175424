import { MpError } from "@mp/core";
import type { Json } from "@mp/core/fit";
import { describe, expect, it } from "vitest";
import { type Dataset, indexedDataset, mapDataset } from "./dataset.js";

const letters = (options: { epochs?: number; signature?: string } = {}): Dataset<string> =>
  indexedDataset({
    signature: options.signature ?? "letters",
    batchesPerEpoch: 3,
    epochs: options.epochs ?? 2,
    batch: ({ epoch, index }) => `${epoch}${"abc"[index]}`,
  });

async function all<B>(batches: AsyncIterable<B>): Promise<B[]> {
  const seen: B[] = [];
  for await (const batch of batches) seen.push(batch);
  return seen;
}

const codeOf = (run: () => unknown): string | undefined => {
  try {
    run();
  } catch (error) {
    return MpError.is(error) ? error.code : String(error);
  }
  return undefined;
};

describe("indexedDataset", () => {
  it("yields its epochs in order, anew for every loop", async () => {
    const dataset = letters();
    expect(await all(dataset)).toEqual(["0a", "0b", "0c", "1a", "1b", "1c"]);
    expect(await all(dataset)).toHaveLength(6);
    expect(await all(letters({ epochs: 0 }))).toEqual([]);
  });

  it("goes on from every cursor, after a trip through JSON, as if it had never stopped", async () => {
    const whole = await all(letters());
    for (let taken = 0; taken <= whole.length; taken++) {
      const first = letters().iterate();
      const seen: string[] = [];
      for (let step = 0; step < taken; step++) seen.push((await first.next()).value);
      const cursor = JSON.parse(JSON.stringify(first.cursor)) as Json;
      expect([...seen, ...(await all(letters().iterate(cursor)))]).toEqual(whole);
    }
  });

  it("goes on past its old end when resumed with more epochs", async () => {
    const iterator = letters({ epochs: 1 }).iterate();
    await all(iterator);
    expect(await all(letters({ epochs: 2 }).iterate(iterator.cursor))).toEqual(["1a", "1b", "1c"]);
  });

  it("counts epochs over passes, so that each pass has epochs of its own", async () => {
    expect(await all(letters().iterate(undefined, 2))).toEqual(["4a", "4b", "4c", "5a", "5b", "5c"]);
    expect(codeOf(() => letters().iterate(undefined, -1))).toBe("MP_INVALID_ARGUMENT");
  });

  it("without end goes on after the passes of one that has an end", async () => {
    const first = async (batches: AsyncIterator<string>): Promise<string> => (await batches.next()).value;
    const ended = letters({ epochs: 1 }).iterate(undefined, 2);
    await ended.next();
    const endless = letters({ epochs: Number.POSITIVE_INFINITY });
    expect(await first(endless.iterate(ended.cursor))).toBe("2b");
    expect(await first(endless.iterate(undefined, 3))).toBe("3a");
  });

  it("knows by the cursor which pass it is in, and takes one that does not say for the first", async () => {
    const iterator = letters().iterate(undefined, 2);
    for (let taken = 0; taken < 4; taken++) await iterator.next();
    expect(await all(letters().iterate(iterator.cursor, 7))).toEqual(["5b", "5c"]);
    const { pass, ...before } = iterator.cursor as { readonly pass: Json };
    expect(pass).toBe(2);
    expect(await all(letters().iterate(before, 2))).toEqual(["1b", "1c"]);
    expect(letters().iterate().cursor).not.toHaveProperty("pass");
  });

  it("runs without end when asked to, and stops when the consumer does", async () => {
    const seen: string[] = [];
    for await (const batch of letters({ epochs: Number.POSITIVE_INFINITY })) {
      seen.push(batch);
      if (seen.length === 10) break;
    }
    expect(seen.at(-1)).toBe("3a");
  });

  it("keeps the cursor before a batch that could not be made", async () => {
    let broken = true;
    const dataset = indexedDataset({
      signature: "broken",
      batchesPerEpoch: 3,
      batch: ({ index }) => {
        if (index === 1 && broken) throw new Error("disk");
        return index;
      },
    });
    const iterator = dataset.iterate();
    await iterator.next();
    await expect(iterator.next()).rejects.toThrow("disk");
    broken = false;
    expect(await all(dataset.iterate(iterator.cursor))).toEqual([1, 2]);
  });

  it("refuses what is no cursor of this data", () => {
    const { cursor } = letters().iterate();
    const strange: Json[] = [
      null,
      7,
      "x",
      [],
      {},
      { ...(cursor as object), index: 3 },
      { ...(cursor as object), epoch: -1 },
      { ...(cursor as object), index: 0.5 },
      { ...(cursor as object), version: 2 },
      { ...(cursor as object), pass: 0.5 },
    ];
    for (const value of strange) {
      expect(
        codeOf(() => letters().iterate(value)),
        JSON.stringify(value),
      ).toBe("MP_INVALID_ARGUMENT");
    }
    expect(() => letters({ signature: "digits" }).iterate(cursor)).toThrow(/"letters".*"digits"/);
  });

  it("refuses impossible sizes", () => {
    const sized = (batchesPerEpoch: number, epochs: number) => () =>
      indexedDataset({ signature: "", batchesPerEpoch, epochs, batch: () => 0 });
    expect(codeOf(sized(0, 1))).toBe("MP_INVALID_ARGUMENT");
    expect(codeOf(sized(1.5, 1))).toBe("MP_INVALID_ARGUMENT");
    expect(codeOf(sized(1, -1))).toBe("MP_INVALID_ARGUMENT");
    expect(codeOf(sized(1, Number.NaN))).toBe("MP_INVALID_ARGUMENT");
  });
});

describe("mapDataset", () => {
  it("hands the pass on", async () => {
    const same = mapDataset(letters(), (batch) => batch);
    expect(await all(same.iterate(undefined, 1))).toEqual(["2a", "2b", "2c", "3a", "3b", "3c"]);
  });

  it("transforms batches and keeps cursors", async () => {
    const upper = mapDataset(letters(), async (batch) => batch.toUpperCase());
    const iterator = upper.iterate();
    expect((await iterator.next()).value).toBe("0A");
    expect(await all(letters().iterate(iterator.cursor))).toEqual(["0b", "0c", "1a", "1b", "1c"]);
    expect(await all(iterator)).toEqual(["0B", "0C", "1A", "1B", "1C"]);
  });

  it("closes the dataset beneath when the consumer stops", async () => {
    let closed = false;
    const source: Dataset<number> = {
      iterate: () => {
        const inner = letters().iterate();
        return Object.assign(Object.create(inner), {
          next: async () => ({ done: false, value: 1 }),
          return: async () => {
            closed = true;
            return { done: true, value: undefined };
          },
          [Symbol.asyncIterator]() {
            return this;
          },
        });
      },
      [Symbol.asyncIterator]() {
        return this.iterate();
      },
    };
    for await (const _ of mapDataset(source, (value) => value)) break;
    expect(closed).toBe(true);
  });
});
