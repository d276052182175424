import { expect, it } from "vitest";
import { digitBatch, digitBatches, unseenBatches } from "./batches.js";
import { paint, SIDE } from "./paint.js";
import { randomNumbers } from "./random.js";
import { fitToSquare } from "./stroke.js";
import { writeDigit } from "./write-digit.js";

it("makes the same digits of the same index, and others of another", () => {
  expect(digitBatch(3, 16)).toEqual(digitBatch(3, 16));
  expect(digitBatch(4, 16).x.data).not.toEqual(digitBatch(3, 16).x.data);
  expect(unseenBatches(1, 16)[0]?.x.data).not.toEqual(digitBatch(0, 16).x.data);
});

it("makes images of all digits, from paper to ink", () => {
  const { x, y } = digitBatch(0, 256);
  expect(x.shape).toEqual([256, 1, SIDE, SIDE]);
  expect(new Set(y.data).size).toBe(10);
  expect(Math.min(...x.data)).toBe(0);
  expect(Math.max(...x.data)).toBe(1);
  for (let image = 0; image < 256; image++) {
    const ink = x.data
      .subarray(image * SIDE * SIDE, (image + 1) * SIDE * SIDE)
      .reduce((sum, part) => sum + part, 0);
    expect(ink).toBeGreaterThan(10);
    expect(ink).toBeLessThan((SIDE * SIDE) / 2);
  }
});

it("goes on from a cursor", async () => {
  const iterator = digitBatches(8).iterate();
  await iterator.next();
  await iterator.next();
  const rest = digitBatches(8).iterate(iterator.cursor);
  expect((await rest.next()).value).toEqual(digitBatch(2, 8));
  expect(rest.cursor).toBe(3);
});

it("sees a drawing alike wherever and however large it is drawn", () => {
  const strokes = writeDigit(5, randomNumbers(1));
  const moved = strokes.map((stroke) => stroke.map(({ x, y }) => ({ x: 3 + x / 4, y: y / 4 - 1 })));
  const [one, other] = [new Float32Array(SIDE * SIDE), new Float32Array(SIDE * SIDE)];
  paint(strokes, one);
  paint(moved, other);
  for (const [pixel, value] of one.entries()) expect(other[pixel]).toBeCloseTo(value, 5);
});

it("keeps a drawing of one dot in the middle", () => {
  expect(fitToSquare([[{ x: 0.1, y: 0.9 }]])).toEqual([[{ x: 0.5, y: 0.5 }]]);
});
