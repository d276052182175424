import { contentHash } from "@mp/graph/internal";
import { describe, expect, it } from "vitest";
import { OUTLINES } from "./outlines.js";
import { shapeImages } from "./shape-images.js";
import { shapeScenes } from "./shape-scenes.js";

describe("shapeImages", () => {
  const small = { seed: 7, train: 300, test: 60 };

  it("is bit-identical for a seed, on every machine and in every version", () => {
    const { train, test } = shapeImages(small);
    expect([train.x, train.y, test.x].map(({ data }) => contentHash(data))).toEqual([
      "80ef498e913949aa",
      "892a0657ac0f9e0f",
      "5b477bffc310a5a3",
    ]);
    expect(shapeImages(small)).toEqual({ train, test, classes: OUTLINES.map(({ name }) => name) });
  });

  it("differs by seed and by part; a smaller set is the beginning of a larger one", () => {
    const { train, test } = shapeImages(small);
    const area = 60 * 3 * 32 * 32;
    expect(train.x.data.subarray(0, area)).not.toEqual(test.x.data);
    expect(shapeImages({ ...small, seed: 8 }).test.x.data).not.toEqual(test.x.data);
    expect(shapeImages({ ...small, train: 60 }).train.x.data).toEqual(train.x.data.subarray(0, area));
  });

  it("has about as many of each class, in colors of all kinds", () => {
    const { train } = shapeImages({ seed: 1, train: 2000, test: 1 });
    for (let label = 0; label < 10; label++) {
      const count = train.y.data.filter((other) => other === label).length;
      expect(Math.abs(count - 200)).toBeLessThan(60);
    }
    // No channel's mean tells the class: a net has to look at the figure.
    for (let channel = 0; channel < 3; channel++) {
      const means = Array.from({ length: 10 }, (_, label) => classMean(train, label, channel));
      expect(Math.max(...means) - Math.min(...means)).toBeLessThan(16);
    }
  });

  it("is not solved by the nearest of 1000 known pictures, and not without any hint either", () => {
    const { train, test } = shapeImages({ seed: 3, train: 1000, test: 60, side: 16 });
    const right = [...test.y.data].filter((label, index) => label === nearest(train, test, index)).length;
    expect(right).toBeGreaterThan(3);
    expect(right).toBeLessThan(30);
  });

  it("draws figures of like size, so that none is told by its area", () => {
    const areas = OUTLINES.map(({ distance }) => insideOf(distance));
    expect(Math.min(...areas)).toBeGreaterThan(0.15);
    expect(Math.max(...areas)).toBeLessThan(0.65);
  });

  it("makes 2000 images in a second or two", () => {
    const before = process.cpuUsage();
    shapeImages({ seed: 5, train: 2000, test: 1 });
    // Processor time of this process, of which it takes 1.2 s.
    expect(process.cpuUsage(before).user / 1e6).toBeLessThan(12);
  });

  it.each([
    [{}, /seed must be an integer/],
    [{ seed: 1, classes: 11 }, /classes must be an integer from 2 to 10, got 11/],
    [{ seed: 1, side: 1e6 }, /side must be an integer from 8 to 256/],
    [{ seed: 1, train: 1e9 }, /train must be an integer from 1 to/],
    [{ seed: 1, difficulty: 2 }, /difficulty must be a number from 0 to 1, got 2/],
    [{ seed: 1, size: 2 }, /has no option "size"; did you mean side\?/],
  ])("refuses %j", (options, message) => {
    expect(() => shapeImages(options as never)).toThrow(message);
  });
});

describe("shapeScenes", () => {
  it("is bit-identical for a seed", () => {
    const { train } = shapeScenes({ seed: 7, train: 40, test: 5 });
    const annotations = contentHash(Buffer.from(JSON.stringify(train.annotations)));
    expect([contentHash(train.x.data), annotations]).toEqual(["92f8a106c16790dc", "d5f53f2a39c9b9a6"]);
  });

  it("has 1 to 4 figures of every class in an image, in tight boxes that hardly overlap", () => {
    const { train } = shapeScenes({ seed: 1, train: 300, test: 1 });
    const { images, classes } = train.annotations;
    expect(classes).toEqual(["disc", "triangle", "square", "star"]);
    const counts = images.map(({ boxes }) => boxes.length);
    expect([...new Set(counts)].sort()).toEqual([1, 2, 3, 4]);
    expect(new Set(images.flatMap(({ boxes }) => boxes.map(({ label }) => label))).size).toBe(4);
    for (const { boxes } of images) {
      for (const [index, { box }] of boxes.entries()) {
        const [left, top, right, bottom] = box;
        expect(left >= 0 && top >= 0 && right <= 64 && bottom <= 64).toBe(true);
        expect(Math.min(right - left, bottom - top)).toBeGreaterThan(5);
        for (const other of boxes.slice(index + 1)) expect(shared(box, other.box)).toBeLessThan(0.2);
      }
    }
  });

  it("stands where the boxes say: light changes inside them far more than outside", () => {
    const { train } = shapeScenes({ seed: 2, train: 100, test: 1, difficulty: 0, objects: 1 });
    const sums = { inside: 0, outside: 0 };
    const counts = { inside: 0, outside: 0 };
    for (const [index, { boxes }] of train.annotations.images.entries()) {
      const [left, top, right, bottom] = boxes[0]?.box ?? [0, 0, 0, 0];
      for (let place = 0; place < 3 * 64 * 64; place++) {
        const [x, y] = [place % 64, Math.floor(place / 64) % 64];
        if (x === 0) continue;
        const isInside = x >= left && x <= right && y >= top && y < bottom;
        const at = index * 3 * 64 * 64 + place;
        const side = isInside ? "inside" : "outside";
        sums[side] += Math.abs((train.x.data[at] ?? 0) - (train.x.data[at - 1] ?? 0));
        counts[side]++;
      }
    }
    expect(sums.inside / counts.inside).toBeGreaterThan(2 * (sums.outside / counts.outside));
  });
});

type Part = ReturnType<typeof shapeImages>["train"];

function classMean({ x, y }: Part, label: number, channel: number): number {
  let [sum, count] = [0, 0];
  for (const [index, own] of y.data.entries()) {
    if (own !== label) continue;
    for (const byte of x.data.subarray((index * 3 + channel) * 1024, (index * 3 + channel + 1) * 1024))
      sum += byte;
    count += 1024;
  }
  return sum / count;
}

function nearest(train: Part, test: Part, index: number): number {
  const size = 3 * 16 * 16;
  let [best, label] = [Number.POSITIVE_INFINITY, -1];
  for (const [other, own] of train.y.data.entries()) {
    let distance = 0;
    for (let i = 0; i < size; i++)
      distance += ((train.x.data[other * size + i] ?? 0) - (test.x.data[index * size + i] ?? 0)) ** 2;
    if (distance < best) [best, label] = [distance, own];
  }
  return label;
}

/** The share of its surrounding square that an outline covers. */
function insideOf(distance: (x: number, y: number) => number): number {
  let inside = 0;
  for (let y = -49.5; y < 50; y++)
    for (let x = -49.5; x < 50; x++) if (distance(x / 50, y / 50) < 0) inside++;
  return inside / 10_000;
}

function shared(a: readonly number[], b: readonly number[]): number {
  const [w, h] = [0, 1].map(
    (axis) => Math.min(a[axis + 2] ?? 0, b[axis + 2] ?? 0) - Math.max(a[axis] ?? 0, b[axis] ?? 0),
  );
  const area = ([l = 0, t = 0, r = 0, u = 0]: readonly number[]) => (r - l) * (u - t);
  return (Math.max(0, w ?? 0) * Math.max(0, h ?? 0)) / Math.min(area(a), area(b));
}
