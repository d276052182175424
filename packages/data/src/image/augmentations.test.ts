/** What augmentations do to pixels, and that a seed, a cursor and a thread give the same bits. */
import { tensor } from "@mp/core";
import { describe, expect, it } from "vitest";
import { type ImageBatchOptions, imageBatches } from "../prefetch/image-batches.js";
import { randomStream } from "../random.js";
import { drawMixture } from "./mixup.js";
import { movePixels, STILL } from "./move-pixels.js";
import { recolor } from "./recolor.js";

const SIDE = 12;
const [COUNT, AREA] = [24, SIDE * SIDE];
const images = {
  x: tensor(
    Uint8Array.from({ length: COUNT * 3 * AREA }, (_, at) => 1 + ((at * 37 + 11) % 255)),
    [COUNT, 3, SIDE, SIDE],
  ),
  y: tensor(Int32Array.from({ length: COUNT }, (_, at) => at)),
};
const everything = {
  batch: 6,
  epochs: 2,
  shuffle: { seed: 5 },
  augment: {
    seed: 7,
    flip: true,
    crop: 2,
    rotate: 20,
    color: { brightness: 0.4, contrast: 0.4, saturation: 0.4 },
    erase: 0.5,
    mixup: 0.2,
  },
} as const satisfies ImageBatchOptions;

async function all<const O extends ImageBatchOptions>(options: O, cursor?: unknown) {
  const seen = [];
  const iterator = imageBatches(images, options).iterate(cursor as never);
  for await (const batch of iterator) seen.push({ batch, cursor: iterator.cursor });
  return seen;
}

describe("augmentations", () => {
  it("give the same bits again, from each cursor, and on another thread", async () => {
    const whole = await all(everything);
    expect(whole.length).toBe(8);
    for (const [at, { cursor }] of whole.entries())
      expect(await all(everything, structuredClone(cursor))).toEqual(whole.slice(at + 1));
    expect(await all({ ...everything, prefetch: 2 })).toEqual(whole);
    const other = await all({ ...everything, augment: { ...everything.augment, seed: 8 } });
    expect(other[0]?.batch.x).not.toEqual(whole[0]?.batch.x);
    const changed = { ...everything, augment: { ...everything.augment, rotate: 21 } };
    expect(() => imageBatches(images, changed).iterate(whole[0]?.cursor)).toThrow(/other data/);
  });

  it.each<[string, number, readonly number[], readonly number[]]>([
    ["a quarter", 90, [1, 2, 3, 4, 5, 6, 7, 8, 9], [3, 6, 9, 2, 5, 8, 1, 4, 7]],
    // Of the pixel right of the middle: 200 · (1 - ½√2) · ½√2 = 41.4 and 200 · (3 - 2 · ½√2 - 1) = 117.2.
    ["an eighth", 45, [0, 0, 0, 0, 0, 200, 0, 0, 0], [0, 41, 117, 0, 0, 41, 0, 0, 0]],
  ])("turn by %s, between pixels", (_name, angle, from, want) => {
    const out = new Uint8ClampedArray(9);
    movePixels(out, Uint8Array.from(from), { channels: 1, height: 3, width: 3 }, { ...STILL, angle });
    expect([...out]).toEqual(want);
  });

  it("turn by up to the angle, about the middle", async () => {
    const white = { x: tensor(new Uint8Array(3 * 25).fill(255), [1, 3, 5, 5]), y: tensor(new Int32Array(1)) };
    const corners: number[] = [];
    const options = { batch: 1, epochs: 200, augment: { seed: 1, rotate: 10 } };
    for await (const { x } of imageBatches(white, options)) {
      expect(x.data[12]).toBe(1);
      corners.push(x.data[0] as number);
    }
    // At 10 degrees the corner is 0.32 outside of one axis.
    expect(Math.min(...corners)).toBeGreaterThan(0.66);
    expect(Math.min(...corners)).toBeLessThan(0.72);
  });

  // PyTorch 2.15, by torchvision's formula clamp(factor · image + (1 - factor) · other), rounded.
  it.each([
    [{ brightness: 1.2 }, [240, 120, 36, 8, 60, 180, 72, 8, 0, 255, 108, 8]],
    [{ contrast: 0.5 }, [137, 87, 52, 41, 62, 112, 67, 41, 37, 162, 82, 41]],
    [{ saturation: 1.4 }, [244, 81, 20, 7, 34, 151, 62, 7, 0, 255, 104, 7]],
    [
      { brightness: 1.2, contrast: 0.5, saturation: 1.4 },
      [191, 94, 56, 48, 65, 136, 81, 48, 23, 188, 107, 48],
    ],
  ])("recolor as torchvision: %o", (factors, want) => {
    const pixels = Uint8ClampedArray.of(200, 100, 30, 7, 50, 150, 60, 7, 0, 250, 90, 7);
    recolor(pixels, 4, { brightness: 1, contrast: 1, saturation: 1, ...factors });
    expect([...pixels]).toEqual(want);
  });

  it("erase one rectangle of half of the images, of torchvision's sizes", async () => {
    let erased = 0;
    const normalize = { mean: [0.5, 0.5, 0.5], deviation: [0.25, 0.25, 0.25] };
    for (const { batch } of await all({
      batch: 6,
      epochs: 20,
      normalize,
      augment: { seed: 3, erase: 0.5 },
    })) {
      for (let at = 0; at < batch.x.data.length; at += AREA) {
        const gone = [...batch.x.data.subarray(at, at + AREA)].flatMap((value, place) =>
          value === 0 ? [[Math.floor(place / SIDE), place % SIDE] as const] : [],
        );
        if (gone.length === 0) continue;
        erased++;
        const [rows, columns] = [gone.map(([row]) => row), gone.map(([, column]) => column)];
        const height = Math.max(...rows) - Math.min(...rows) + 1;
        const width = Math.max(...columns) - Math.min(...columns) + 1;
        expect(gone.length).toBe(height * width);
        // Sides are rounded to pixels.
        expect(Math.abs(Math.log(height / width))).toBeLessThan(Math.log(3.3) + 0.7);
        expect(gone.length / AREA).toBeLessThan(0.4);
      }
    }
    expect(erased / (COUNT * 20 * 3)).toBeCloseTo(0.5, 1);
  });

  it("mix images of a batch with others of it, and say which and how much", async () => {
    const { mixup: _, ...augment } = everything.augment;
    const plain = await all({ ...everything, augment });
    for (const [at, { batch }] of (await all(everything)).entries()) {
      const { x, y } = (plain[at] as (typeof plain)[number]).batch;
      expect(batch.y).toEqual(y);
      const stride = 3 * AREA;
      for (const [row, share] of batch.share.data.entries()) {
        const partner = [...y.data].indexOf(batch.otherY.data[row] as number);
        expect(partner).toBeGreaterThanOrEqual(0);
        for (const place of [0, 77, stride - 1]) {
          const [own, other] = [row, partner].map((from) => x.data[from * stride + place] as number) as [
            number,
            number,
          ];
          expect(batch.x.data[row * stride + place]).toBeCloseTo(share * own + (1 - share) * other, 6);
        }
      }
    }
  });

  it.each([0.05, 0.2, 1, 2])("draw shares with the moments of Beta, both parameters %d", (alpha) => {
    const { shares } = drawMixture(alpha, 20_000, randomStream(1));
    const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length;
    const variance = shares.reduce((sum, share) => sum + (share - mean) ** 2, 0) / shares.length;
    expect(mean).toBeCloseTo(0.5, 1);
    expect(variance / (1 / (4 * (2 * alpha + 1)))).toBeCloseTo(1, 1);
  });

  it.each<[object, RegExp]>([
    [{ rotate: 181 }, /augment: rotate must be a number from 0 to 180, got 181/],
    [{ color: { brightness: 2 } }, /color: brightness must be a number from 0 to 1, got 2/],
    [{ color: { hue: 0.1 } }, /color: has no option "hue"/],
    [{ erase: -0.1 }, /erase must be a number from 0 to 1/],
    [{ mixup: 0 }, /mixup must be a number above 0 up to 2, got 0/],
  ])("refuse %o", (augment, message) => {
    expect(() => imageBatches(images, { batch: 1, augment: { seed: 1, ...augment } })).toThrow(message);
  });

  it("refuse saturation of images without colors", () => {
    const gray = { x: tensor(new Uint8Array(4), [1, 1, 2, 2]), y: tensor(new Int32Array(1)) };
    const augment = { seed: 1, color: { saturation: 0.5 } };
    expect(() => imageBatches(gray, { batch: 1, augment })).toThrow(
      /three channels, and these images have 1/,
    );
  });
});
