import { median } from "./statistics.js";

type Work = () => Promise<unknown>;

export interface Counts {
  /** Calls before the timed ones. */
  readonly warmup: number;
  /** Timed calls. */
  readonly steps: number;
}

/** Adds the milliseconds that the work takes to `times`, and returns its result. */
export async function time<R>(times: number[], work: () => Promise<R>): Promise<R> {
  const startedAt = performance.now();
  const result = await work();
  times.push(performance.now() - startedAt);
  return result;
}

export async function milliseconds(work: Work): Promise<number> {
  const times: number[] = [];
  await time(times, work);
  return times[0] ?? Number.NaN;
}

/**
 * Calls several functions in turn, so that all see the same state of the machine, and returns the median
 * milliseconds of each.
 */
export async function interleave<K extends string>(
  works: Readonly<Record<K, Work>>,
  { warmup, steps }: Counts,
): Promise<Readonly<Record<K, number>>> {
  const names = Object.keys(works) as K[];
  const times = new Map<K, number[]>(names.map((name) => [name, []]));
  for (let round = 0; round < warmup + steps; round++) {
    // The order alternates, so that no function always follows the same one.
    const order = round % 2 === 0 ? names : [...names].reverse();
    for (const name of order) await time(round < warmup ? [] : (times.get(name) ?? []), works[name]);
  }
  return Object.fromEntries(names.map((name) => [name, median(times.get(name) ?? [])])) as Record<K, number>;
}

/** The median milliseconds of one function. */
export const medianTime = async (work: Work, counts: Counts): Promise<number> =>
  (await interleave({ work }, counts)).work;
