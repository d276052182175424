import type { Box } from "@mp/data";

/** The area of the intersection divided by the area of the union, 0 … 1. */
export function intersectionOverUnion(a: Box, b: Box): number {
  const width = Math.min(a[2], b[2]) - Math.max(a[0], b[0]);
  const height = Math.min(a[3], b[3]) - Math.max(a[1], b[1]);
  if (width <= 0 || height <= 0) return 0;
  const shared = width * height;
  return shared / (area(a) + area(b) - shared);
}

const area = (box: Box): number => (box[2] - box[0]) * (box[3] - box[1]);

/** SSD's variances: offsets are divided by them, so that positions and sizes have equal weight in the loss. */
const PLACE = 0.1;
const SIZE = 0.2;

export type Offsets = readonly [x: number, y: number, width: number, height: number];

/** Encodes a box relative to an anchor: center in units of its size, sizes as logarithms, over the variances. */
export function encodeBox(box: Box, anchor: Box): Offsets {
  const [x, y, width, height] = toCenter(box);
  const [anchorX, anchorY, anchorWidth, anchorHeight] = toCenter(anchor);
  return [
    (x - anchorX) / anchorWidth / PLACE,
    (y - anchorY) / anchorHeight / PLACE,
    Math.log(width / anchorWidth) / SIZE,
    Math.log(height / anchorHeight) / SIZE,
  ];
}

/** Decodes offsets of `encodeBox`. */
export function decodeBox(offsets: Offsets, anchor: Box): Box {
  const [anchorX, anchorY, anchorWidth, anchorHeight] = toCenter(anchor);
  const x = anchorX + offsets[0] * PLACE * anchorWidth;
  const y = anchorY + offsets[1] * PLACE * anchorHeight;
  const width = anchorWidth * Math.exp(offsets[2] * SIZE);
  const height = anchorHeight * Math.exp(offsets[3] * SIZE);
  return [x - width / 2, y - height / 2, x + width / 2, y + height / 2];
}

const toCenter = ([left, top, right, bottom]: Box): Offsets => [
  (left + right) / 2,
  (top + bottom) / 2,
  right - left,
  bottom - top,
];
