import { tensor } from "@mp/core";
import type { Json } from "@mp/core/fit";
import { describe, expect, it } from "vitest";
import { channelStatistics } from "../image/channel-statistics.js";
import { type ImageBatchOptions, imageBatches } from "./image-batches.js";

const SIDE = 4;
/** Twelve images in which every byte identifies image, channel and position. */
const images = {
  x: tensor(
    Uint8Array.from({ length: 12 * 2 * SIDE * SIDE }, (_, index) => (index * 37 + 11) % 256),
    [12, 2, SIDE, SIDE],
  ),
  y: tensor(Int32Array.from({ length: 12 }, (_, index) => index % 3)),
};

interface Seen {
  readonly x: readonly number[];
  readonly y: readonly number[];
  readonly cursor: Json;
}

async function all(
  options: ImageBatchOptions,
  cursor?: Json,
  limit = Number.POSITIVE_INFINITY,
): Promise<Seen[]> {
  const seen: Seen[] = [];
  const iterator = imageBatches(images, options).iterate(cursor);
  for await (const { x, y } of iterator) {
    seen.push({ x: [...x.data], y: [...y.data], cursor: iterator.cursor });
    if (seen.length === limit) break;
  }
  return seen;
}

const everything: ImageBatchOptions = {
  batch: 4,
  epochs: 3,
  shuffle: { seed: 5 },
  augment: { seed: 5, flip: true, crop: 2 },
  normalize: channelStatistics(images),
};

describe("imageBatches", () => {
  it("gives bytes as 0 … 1 by channel, in order, and drops or keeps the last partial batch", async () => {
    const seen = await all({ batch: 5 });
    expect(seen.map(({ y }) => y)).toEqual([
      [0, 1, 2, 0, 1],
      [2, 0, 1, 2, 0],
    ]);
    const bytes = [...images.x.data].map((byte) => Math.fround(byte / 255));
    expect(seen.flatMap(({ x }) => x)).toEqual(bytes.slice(0, 10 * 32));
    expect((await all({ batch: 5, partial: "keep" })).at(-1)?.y).toEqual([1, 2]);
  });

  it("normalizes to mean 0 and deviation 1 in each channel", async () => {
    const [whole] = await all({ batch: 12, normalize: channelStatistics(images) });
    for (let channel = 0; channel < 2; channel++) {
      const own = (whole?.x ?? []).filter((_, index) => Math.floor(index / 16) % 2 === channel);
      const mean = own.reduce((sum, value) => sum + value, 0) / own.length;
      const square = own.reduce((sum, value) => sum + value * value, 0) / own.length;
      expect(Math.abs(mean)).toBeLessThan(1e-6);
      expect(square).toBeCloseTo(1, 5);
    }
  });

  it("crops and flips whole images, differently in each epoch, about half of them mirrored", async () => {
    const tagged = { batch: 12, epochs: 40, augment: { seed: 1, flip: true, crop: 1 } };
    let [flipped, moved, total] = [0, 0, 0];
    for (const { x } of await all(tagged)) {
      for (let image = 0; image < 12; image++, total++) {
        const source = [...images.x.data.subarray(image * 32, image * 32 + 16)];
        const found = candidates(source).find(({ pixels }) =>
          pixels.every((byte, index) => Math.fround(byte / 255) === x[image * 32 + index]),
        );
        // Every image must be one of the 18 possible augmentations of its source, the same one in both channels.
        if (found === undefined) throw new Error(`image ${image} is no crop of its source`);
        const second = [...images.x.data.subarray(image * 32 + 16, image * 32 + 32)];
        const same = candidates(second).find(({ name }) => name === found.name);
        expect(x.slice(image * 32 + 16, image * 32 + 32)).toEqual(
          same?.pixels.map((byte) => Math.fround(byte / 255)),
        );
        if (found.isFlipped) flipped++;
        if (!found.name.startsWith("0,0")) moved++;
      }
    }
    expect(Math.abs(flipped / total - 0.5)).toBeLessThan(0.08);
    expect(Math.abs(moved / total - 8 / 9)).toBeLessThan(0.06);
  });

  it("is the same for a seed and another for another", async () => {
    expect(await all(everything)).toEqual(await all(everything));
    const other = await all({ ...everything, augment: { seed: 6, flip: true, crop: 2 } });
    expect(other.map(({ x }) => x)).not.toEqual((await all(everything)).map(({ x }) => x));
    expect(other.map(({ y }) => y)).toEqual((await all(everything)).map(({ y }) => y));
  });

  it("goes on from every cursor as if it had never stopped", async () => {
    const whole = await all(everything);
    for (const [index, { cursor }] of whole.entries()) {
      expect(await all(everything, structuredClone(cursor))).toEqual(whole.slice(index + 1));
    }
    expect(() => imageBatches(images, { ...everything, batch: 3 }).iterate(whole[0]?.cursor)).toThrow(
      /other data/,
    );
  });

  it("takes no account of the order in which options are written", async () => {
    const [{ cursor } = { cursor: null }] = await all(everything);
    const turned = Object.fromEntries(
      Object.entries(everything)
        .reverse()
        .map(([name, value]) => [
          name,
          typeof value === "object" ? Object.fromEntries(Object.entries(value).reverse()) : value,
        ]),
    );
    expect(Object.keys(turned)).not.toEqual(Object.keys(everything));
    expect(imageBatches(images, turned as never).iterate(cursor).cursor).toEqual(cursor);
  });

  it.each([
    [{ batch: 0 }, /batch must be an integer ≥ 1, got 0/],
    [{ batch: 13 }, /larger than the data, 12 examples/],
    [{ batch: 1, augment: { seed: 1, crop: 5 } }, /0 to 4, the image's side, got 5/],
    [{ batch: 1, augment: { seed: 0.5 } }, /seed must be an integer/],
    [{ batch: 1, augment: { seed: 1, flips: true } }, /did you mean flip\?/],
    [{ batch: 1, normalize: { mean: [0], deviation: [1] } }, /got undefined and undefined for channel 1/],
    [{ batch: 1, normalize: { mean: [0, 0], deviation: [1, 0] } }, /deviation above 0/],
    [{ batch: 1, prefetch: 1e9 }, /prefetch must be an integer from 1 to 1024, got 1000000000/],
    [{ batch: 1, prefetch: 0 }, /prefetch must be an integer from 1 to 1024, got 0/],
    [{ batchSize: 1 }, /did you mean batch\?/],
  ])("refuses %j", (options, message) => {
    expect(() => imageBatches(images, options as never)).toThrow(message);
  });

  it("refuses what are no images", () => {
    const flat = tensor(new Uint8Array(12), [12, 1]);
    expect(() => imageBatches({ ...images, x: flat }, { batch: 1 })).toThrow(
      /\[examples, channels, height, width\], got u8 \[12, 1\]/,
    );
    expect(() => imageBatches({ train: images, test: images } as never, { batch: 1 })).toThrow(
      "takes one part of the images, got an object with train, test; pass their train or test",
    );
    expect(() => imageBatches({ ...images, y: tensor(new Int32Array(3)) }, { batch: 1 })).toThrow(
      /labels of 12 images, i32 \[12\], got i32 \[3\]/,
    );
  });
});

/** All results of flipping one channel and cropping it with a border of 1. */
function candidates(source: readonly number[]): { name: string; isFlipped: boolean; pixels: number[] }[] {
  const offsets = [-1, 0, 1];
  return offsets.flatMap((top) =>
    offsets.flatMap((left) =>
      [false, true].map((isFlipped) => {
        const pixels = source.map((_, index) => {
          const [row, column] = [Math.floor(index / SIDE), index % SIDE];
          const [from, at] = [row + top, (isFlipped ? SIDE - 1 - column : column) + left];
          const isInside = from >= 0 && from < SIDE && at >= 0 && at < SIDE;
          return isInside ? (source[from * SIDE + at] ?? 0) : 0;
        });
        return { name: `${top},${left},${isFlipped}`, isFlipped, pixels };
      }),
    ),
  );
}
