/** A point of a drawing; y grows downwards. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** A line drawn without lifting the pen. */
export type Stroke = readonly Point[];

/** Fraction of the image's side that a drawing takes. The margin is for the pen's width. */
const EXTENT = 0.74;

/**
 * Moves a drawing to the middle of the unit square, scaled by one factor so that its longer side takes EXTENT of it.
 * Drawings by people and generated drawings both go through this function, so that a network sees them alike.
 */
export function fitToSquare(strokes: readonly Stroke[]): readonly Stroke[] {
  const points = strokes.flat();
  const [left, right] = range(points.map(({ x }) => x));
  const [top, bottom] = range(points.map(({ y }) => y));
  // A dot has no extent.
  const scale = EXTENT / Math.max(right - left, bottom - top, 1e-6);
  return strokes.map((stroke) =>
    stroke.map(({ x, y }) => ({
      x: 0.5 + (x - (left + right) / 2) * scale,
      y: 0.5 + (y - (top + bottom) / 2) * scale,
    })),
  );
}

const range = (numbers: readonly number[]): readonly [number, number] =>
  numbers.reduce(
    ([least, most], number) => [Math.min(least, number), Math.max(most, number)],
    [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
  );
