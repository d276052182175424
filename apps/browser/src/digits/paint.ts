import { fitToSquare, type Point, type Stroke } from "./stroke.js";

/** The side of an image in pixels. */
export const SIDE = 20;

/** The pen's radius for drawings that are not generated, in pixels. */
export const PEN = 1.1;

/** Paints a drawing into `out` as an image [SIDE, SIDE], 0 for paper and 1 for ink. */
export function paint(strokes: readonly Stroke[], out: Float32Array, pen = PEN): void {
  const pieces = fitToSquare(strokes).flatMap((stroke) =>
    stroke.map((point, index) => [stroke[index - 1] ?? point, point] as const),
  );
  for (let row = 0; row < SIDE; row++) {
    for (let column = 0; column < SIDE; column++) {
      const pixel = { x: (column + 0.5) / SIDE, y: (row + 0.5) / SIDE };
      let nearest = Number.POSITIVE_INFINITY;
      for (const [from, to] of pieces) nearest = Math.min(nearest, distanceSquared(pixel, from, to));
      // One pixel from ink to paper.
      out[row * SIDE + column] = Math.min(1, Math.max(0, pen + 0.5 - Math.sqrt(nearest) * SIDE));
    }
  }
}

function distanceSquared(point: Point, from: Point, to: Point): number {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const length = dx * dx + dy * dy;
  const along = length === 0 ? 0 : ((point.x - from.x) * dx + (point.y - from.y) * dy) / length;
  const place = Math.min(1, Math.max(0, along));
  return (point.x - from.x - place * dx) ** 2 + (point.y - from.y - place * dy) ** 2;
}
