/**
 * The size and seed of a soak: `npm run soak` sets them; `npm test` runs a fiftieth. The seed of all random draws is
 * printed, so that a failure can be reproduced; `npm test` uses the same seed all day.
 */
const DEFAULT_FRACTION = 1 / 50;

const given = process.env["MP_SOAK_SEED"];
export const seed: number = given === undefined ? Math.floor(Date.now() / 86_400_000) : Number(given);

export const fraction: number = Number(process.env["MP_SOAK_FRACTION"] ?? DEFAULT_FRACTION);
if (!(fraction > 0 && fraction <= 1))
  throw new Error(`MP_SOAK_FRACTION must be above 0 and at most 1, got ${fraction}`);

/** The given share of a full count, at least 1. */
export const part = (full: number): number => Math.max(1, Math.round(full * fraction));

/** Mulberry32 from the printed seed: numbers in 0 … 1. */
export function randomOf(start: number): () => number {
  let state = start >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
