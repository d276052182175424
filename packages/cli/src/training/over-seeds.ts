import type { CommonOptions } from "../common-flags.js";
import { type Flag, flagName, integer } from "../flag.js";
import { type AppContext, UsageError } from "../run-app.js";

export interface SeededOptions extends CommonOptions {
  /** Number of seeds, and so of runs of each kind; default 3. */
  readonly seeds: number | undefined;
}

export interface Kind<O> {
  readonly name: string;
  /** Options of the runs; each run gets its own seed. */
  readonly options: O;
}

/** A kind of run with all its runs, in the order of seeds. */
export type Finished<K, R> = K & { readonly runs: readonly R[] };

export interface SeededRuns<K, R> {
  /** The kinds whose runs have all finished. */
  readonly kinds: readonly Finished<K, R>[];
  /** All finished runs. */
  readonly runs: readonly R[];
}

const MOST_SEEDS = 1000;
const SEEDS = 3;

export const seedsFlag = (where: string): Flag<number | undefined> =>
  integer({
    max: MOST_SEEDS,
    help: `runs of each kind for ${where}, with seeds from --seed on; ${SEEDS} unless given`,
  });

/**
 * Trains every kind of run with the same seeds. Runs with one seed have the same initial state and batches. A failed
 * run prints a line on standard error, and its kind is left out; if the first run fails, its error is thrown.
 */
export async function overSeeds<O extends SeededOptions, K extends Kind<O>, R>(
  kinds: readonly K[],
  context: AppContext,
  run: (options: O, label: string, kind: K) => Promise<R>,
): Promise<SeededRuns<K, R>> {
  const runs: R[] = [];
  const finished: Finished<K, R>[] = [];
  const total = kinds.reduce((sum, { options }) => sum + (options.seeds ?? SEEDS), 0);
  let begun = 0;
  for (const kind of kinds) {
    const own: R[] = [];
    for (const seed of seedList(kind.options)) {
      const label = `${++begun}/${total} ${kind.name}, seed ${seed}`;
      const once = async (): Promise<void> => {
        const done = await run({ ...kind.options, seed }, label, kind);
        // A run that was stopped cannot be compared.
        if (!context.signal.aborted) own.push(done);
      };
      await (runs.length + own.length === 0 ? once() : context.attempt(label, once));
      if (context.signal.aborted) return { kinds: finished, runs: [...runs, ...own] };
    }
    runs.push(...own);
    if (own.length === (kind.options.seeds ?? SEEDS)) finished.push({ ...kind, runs: own });
  }
  return { kinds: finished, runs };
}

function seedList({ seed, seeds = SEEDS }: SeededOptions): readonly number[] {
  if (!Number.isSafeInteger(seed + seeds)) {
    throw new UsageError(`--seed ${seed}: has no ${seeds} integers from there on, take a smaller one`);
  }
  return Array.from({ length: seeds }, (_, index) => seed + index);
}

/**
 * Refuses flags that cannot be combined with `flag`.
 * @param reason completes a sentence that begins with `flag`
 * @throws UsageError naming the flags that are given
 */
export function refuseBeside<O extends CommonOptions>(
  flag: string,
  options: O,
  names: readonly (keyof O & string)[],
  reason = "trains many networks",
): void {
  const given = names.filter((name) => options[name] !== undefined && options[name] !== false);
  if (given.length === 0) return;
  throw new UsageError(`${flag} ${reason}: it goes without ${given.map(flagName).join(", ")}`);
}

/** Refuses `--seeds` without one of the flags `names`, which train several networks. @throws UsageError */
export function refuseLoneSeeds<O extends SeededOptions>(
  options: O,
  names: readonly (keyof O & string)[],
): void {
  if (options.seeds === undefined) return;
  if (names.some((name) => options[name] !== undefined && options[name] !== false)) return;
  throw new UsageError(`--seeds goes with ${names.map(flagName).join(" or ")}; one run takes --seed`);
}
