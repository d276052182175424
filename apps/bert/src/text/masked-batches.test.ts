import { describe, expect, it } from "vitest";
import { type MaskedBatch, maskedBatches } from "./masked-batches.js";
import { cutSequences } from "./sequences.js";
import { CLS, MASK, SEP } from "./tokenizer.js";

const text = Int32Array.from({ length: 62 * 40 }, (_, index) => 5 + (index % 90));
const sequences = cutSequences([text], 64);
const options = { vocabulary: 100, seed: 3, epochs: 2, shuffle: true };

async function all(batch: number): Promise<readonly MaskedBatch[]> {
  const batches: MaskedBatch[] = [];
  for await (const one of maskedBatches(sequences, { ...options, batch })) batches.push(one);
  return batches;
}
const joined = (batches: readonly MaskedBatch[], part: keyof MaskedBatch): readonly number[] =>
  batches.flatMap((one) => Array.from(one[part].data));

describe("maskedBatches", () => {
  it("gives back the text where the hidden pieces are put in", async () => {
    for (const { ids, places, pieces } of await all(8)) {
      const whole = Int32Array.from(ids.data);
      places.data.forEach((place, index) => {
        whole[place] = pieces.data[index] as number;
      });
      for (let row = 0; row < 8; row++) {
        const own = whole.subarray(row * 64, (row + 1) * 64);
        expect([own[0], own[63]]).toEqual([CLS, SEP]);
        for (let i = 2; i < 63; i++) expect(own[i]).toBe(5 + (((own[i - 1] as number) - 5 + 1) % 90));
      }
    }
  });

  it("predicts the same number of pieces in each sequence, of which about four in five are hidden", async () => {
    const batches = await all(8);
    expect(batches).toHaveLength(10);
    for (const { places } of batches) {
      const perRow = new Array(8).fill(0);
      for (const place of places.data) perRow[Math.floor(place / 64)]++;
      expect(perRow).toEqual(new Array(8).fill(9));
    }
    const read = batches.flatMap(({ ids, places }) => Array.from(places.data, (place) => ids.data[place]));
    const share = read.filter((id) => id === MASK).length / read.length;
    expect(share).toBeGreaterThan(0.74);
    expect(share).toBeLessThan(0.86);
  });

  it("hides the same in small batches as in large ones, and other pieces in the next epoch", async () => {
    const [small, large] = [await all(4), await all(20)];
    expect(joined(small, "ids")).toEqual(joined(large, "ids"));
    expect(joined(small, "pieces")).toEqual(joined(large, "pieces"));
    const [first, second] = [joined(large.slice(0, 2), "pieces"), joined(large.slice(2), "pieces")];
    expect(first).toHaveLength(second.length);
    expect(first).not.toEqual(second);
  });

  it("refuses a text that is too short for a batch", () => {
    expect(() => maskedBatches(sequences, { ...options, batch: 41 })).toThrow(/40 sequences of 64/);
  });
});
