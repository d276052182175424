import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import sharp from "sharp";
import { afterAll, expect, it } from "vitest";
import { readSceneImages } from "./read-scene-images.js";

const folder = mkdtempSync(join(tmpdir(), "mp-scene-images-"));
afterAll(() => rmSync(folder, { recursive: true }));

it("keeps a box on what it is around in a photograph that was taken turned", async () => {
  // A bright square at the upper left of the stored pixels, which are 64 by 32.
  const square = await sharp({ create: { width: 16, height: 16, channels: 3, background: "#fff" } })
    .png()
    .toBuffer();
  await sharp({ create: { width: 64, height: 32, channels: 3, background: "#000" } })
    .composite([{ input: square, left: 0, top: 0 }])
    .withMetadata({ orientation: 6 })
    .jpeg({ quality: 100 })
    .toFile(join(folder, "turned.jpg"));
  const labeled = { label: 0, box: [0, 0, 16, 16] as const, isIgnored: false };
  const image = { file: "turned.jpg", width: 64, height: 32, boxes: [labeled] };
  const { x, boxes } = await readSceneImages(folder, [image], 32);
  const [left, top, right, bottom] = boxes[0]?.[0]?.box ?? [0, 0, 0, 0];
  expect([left, top, right, bottom]).toEqual([0, 0, 8, 16]);
  const bright = [...x.data.subarray(0, 32 * 32)].flatMap((red, place) =>
    red > 128 ? [[place % 32, Math.floor(place / 32)]] : [],
  );
  expect(bright).toHaveLength(8 * 16);
  for (const [column = -1, row = -1] of bright) {
    expect(column < right && row < bottom).toBe(true);
  }
});
