/**
 * A piecewise linear inverse of the normal distribution, for `randomNormal`. The product of a slope and a position
 * within a piece has at most 24 significant bits: it is exact in f32, and a fused multiply-add gives the same sum.
 */

/** Number of pieces per level. Each level refines the lowest 16 pieces of the next, where the inverse bends most. */
export const PIECES = 1024;

/** Each piece of a level covers `integers` of the integers below 2^30, in `places` distinct positions. */
export interface Level {
  readonly integers: number;
  readonly places: number;
}

export const LEVELS: readonly Level[] = [
  { integers: 2 ** 2, places: 2 ** 2 },
  { integers: 2 ** 8, places: 2 ** 8 },
  { integers: 2 ** 14, places: 2 ** 14 },
  { integers: 2 ** 20, places: 2 ** 12 },
];

/** Values at the ends of pieces are multiples of `GRID`, so that slopes have few significant bits. */
const GRID = 2 ** -16;

/** The probability that a normal number is above z ≥ 0, from a series for the integral from 0 to z. */
function probabilityAbove(z: number, density: number): number {
  let term = z;
  let sum = z;
  for (let odd = 3; sum + term !== sum; odd += 2) {
    term *= (z * z) / odd;
    sum += term;
  }
  return 0.5 - density * sum;
}

/** The number that a normal variable exceeds with probability p ≤ ½, by Newton's method from a smaller number. */
function quantile(p: number, below: number): number {
  let z = below;
  for (let step = 1; step > GRID / 64; z += step) {
    const density = Math.exp(-z * z * 0.5) / Math.sqrt(2 * Math.PI);
    step = (probabilityAbove(z, density) - p) / density;
  }
  return z;
}

/**
 * The linear pieces of the inverse, level by level from the lowest. `starts` holds each piece's value in the
 * middle of its first position, and `slopes` its increment per position.
 */
export interface NormalTable {
  readonly starts: Float32Array<ArrayBuffer>;
  readonly slopes: Float32Array<ArrayBuffer>;
}

let known: NormalTable | undefined;

/** The value that a normal variable exceeds with probability n / 2^31, for n = 0 … 2^30: from 6.3 down to 0. */
export function normalTable(): NormalTable {
  known ??= makeTable();
  return known;
}

function makeTable(): NormalTable {
  const starts = new Float32Array(LEVELS.length * PIECES);
  const slopes = new Float32Array(starts.length);
  const probability = (integer: number): number => Math.max(integer, 2 ** -2) / 2 ** 31;
  LEVELS.forEach(({ integers, places }, level) => {
    // Starts at the end with the smallest numbers, so that Newton's method starts below each quantile, and near it.
    let exact = quantile(probability(PIECES * integers), 0);
    let end = Math.round(exact / GRID);
    for (let piece = PIECES - 1; piece >= 0; piece--) {
      exact = quantile(probability(piece * integers), exact);
      const start = Math.round(exact / GRID);
      const slope = ((end - start) * GRID) / places;
      slopes[level * PIECES + piece] = slope;
      starts[level * PIECES + piece] = start * GRID + slope / 2;
      end = start;
    }
  });
  return { starts, slopes };
}
