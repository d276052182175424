/** Pseudo-random numbers for test data, seeded and the same on every machine. */
export interface RandomSource {
  /** A number in [0, 1), in steps of 2^-32. */
  next(): number;
  /** An integer from low to high, both included. */
  integer(low: number, high: number): number;
  /** A number in [low, high). */
  between(low: number, high: number): number;
  /** Skips `count` numbers. */
  skip(count: number): void;
}

const STEP = 0x6d2b79f5;

/** A mulberry32 generator, seeded with the seed and a hash of the label. */
export function randomSource(seed: number, label: string): RandomSource {
  let state = seed >>> 0;
  for (let at = 0; at < label.length; at++)
    state = (Math.imul(state ^ label.charCodeAt(at), 0x01000193) + 1) >>> 0;
  const next = (): number => {
    state = (state + STEP) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    next,
    integer: (low, high) => low + Math.floor(next() * (high - low + 1)),
    between: (low, high) => low + next() * (high - low),
    skip: (count) => {
      state = (state + Math.imul(count, STEP)) >>> 0;
    },
  };
}

/** Shuffles the items. */
export function inAnyOrder<T>(random: RandomSource, items: readonly T[]): T[] {
  const left = [...items];
  return items.map(() => left.splice(random.integer(0, left.length - 1), 1)[0] as T);
}
