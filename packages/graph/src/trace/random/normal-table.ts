/**
 * The inverse of the normal distribution, piecewise linear, for `randomNormal`. The product of a slope and a position
 * in its piece has at most 24 significant bits: it is exact in f32, and a fused multiply-add gives the same sum.
 */

/** Pieces in each level. The level below covers the lowest 16 of a level, where the distribution bends most. */
export const PIECES = 1024;

/** Number of integers below 2^30 that each piece of a level covers, and of distinct positions in a piece. */
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

/** Values at the ends of pieces are multiples of this, so that slopes have few significant bits. */
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

/** The number that a normal variable exceeds with probability p ≤ ½, by Newton's method from a number below it. */
function quantile(p: number, below: number): number {
  let z = below;
  for (let step = 1; step > GRID / 64; z += step) {
    const density = Math.exp(-z * z * 0.5) / Math.sqrt(2 * Math.PI);
    step = (probabilityAbove(z, density) - p) / density;
  }
  return z;
}

/**
 * The value at the middle of the first position of each piece, and the increment per position. Pieces are in the
 * order of levels, from the lowest.
 */
export interface NormalTable {
  readonly starts: Float32Array<ArrayBuffer>;
  readonly slopes: Float32Array<ArrayBuffer>;
}

let known: NormalTable | undefined;

/** Integers 0 … 2^30 stand for the probabilities 0 … ½ of a larger number, so values fall from 6.3 to 0. */
export function normalTable(): NormalTable {
  known ??= makeTable();
  return known;
}

function makeTable(): NormalTable {
  const starts = new Float32Array(LEVELS.length * PIECES);
  const slopes = new Float32Array(starts.length);
  const probability = (integer: number): number => Math.max(integer, 2 ** -2) / 2 ** 31;
  LEVELS.forEach(({ integers, places }, level) => {
    // From the end with the smallest numbers, so that Newton's method starts below each quantile, and near it.
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
