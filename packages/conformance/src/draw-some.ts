import type { RandomSource } from "./random-source.js";

/** Draws `count` of the items, each at most once, in random order. */
export function drawSome<T>(random: RandomSource, items: readonly T[], count: number): readonly T[] {
  const rest = [...items];
  return Array.from({ length: Math.min(count, rest.length) }, () =>
    rest.splice(random.integer(0, rest.length - 1), 1),
  ).flat();
}
