import { tensor } from "@mp/core";
import type { Box, LabeledBox } from "@mp/data";
import { describe, expect, it } from "vitest";
import { sceneBatches } from "./scene-batches.js";
import type { Scenes } from "./scenes.js";

const SIZE = 32;
const anchors: readonly Box[] = [[0, 0, 16, 16]];

function scenes(box: LabeledBox): Scenes {
  const images = {
    x: tensor(new Uint8Array(2 * 3 * SIZE * SIZE).fill(7), [2, 3, SIZE, SIZE]),
    boxes: [[box], [{ label: 1, box: [1, 1, 9, 9] as const, isIgnored: false }]],
  };
  const statistics = { mean: [0, 0, 0], deviation: [1, 1, 1] };
  return { train: images, test: images, classes: ["a", "b"], size: SIZE, statistics, summary: {} };
}

const settings = { batch: 1, seed: 1, flip: false };
const plain: LabeledBox = { label: 0, box: [2, 2, 12, 12], isIgnored: false };

describe("sceneBatches", () => {
  it("refuses a cursor of the same pixels with other boxes, labels or anchors", () => {
    const { cursor } = sceneBatches(scenes(plain), anchors, settings).iterate();
    expect(sceneBatches(scenes({ ...plain }), anchors, settings).iterate(cursor).cursor).toEqual(cursor);
    for (const other of [
      { ...plain, label: 1 },
      { ...plain, box: [2, 2, 12, 13] as const },
      { ...plain, isIgnored: true },
    ]) {
      expect(() => sceneBatches(scenes(other), anchors, settings).iterate(cursor)).toThrow(/other data/);
    }
    expect(() => sceneBatches(scenes(plain), [[0, 0, 8, 8]], settings).iterate(cursor)).toThrow(/other data/);
  });

  it("refuses batches larger than the data, and larger than an array", () => {
    expect(() => sceneBatches(scenes(plain), anchors, { ...settings, batch: 3 })).toThrow(
      /the data, 2 images/,
    );
    const wide = { ...scenes(plain), size: 2 ** 15 };
    expect(() => sceneBatches(wide, anchors, settings)).toThrow(/12884901888 bytes, the most is 2147483648/);
  });
});
