import { median } from "../statistics.js";

/**
 * Takes steps of several trainings in turn, so that all see the same state of the machine, and returns the median
 * milliseconds of each.
 */
export async function interleaved<K extends string>(
  steps: Readonly<Record<K, () => Promise<unknown>>>,
  counts: { readonly warmup: number; readonly steps: number },
): Promise<Readonly<Record<K, number>>> {
  const names = Object.keys(steps) as K[];
  const times = new Map<K, number[]>(names.map((name) => [name, []]));
  for (let round = 0; round < counts.warmup + counts.steps; round++) {
    // The order alternates, so that none always follows the same other one.
    const order = round % 2 === 0 ? names : [...names].reverse();
    for (const name of order) {
      const startedAt = performance.now();
      await steps[name]();
      if (round >= counts.warmup) times.get(name)?.push(performance.now() - startedAt);
    }
  }
  return Object.fromEntries(names.map((name) => [name, median(times.get(name) ?? [])])) as Record<K, number>;
}
