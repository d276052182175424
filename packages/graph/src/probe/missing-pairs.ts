import { refusalOf } from "./engine-refusal.js";
import { type ProbePair, pairKey } from "./pair-key.js";

/**
 * Finds the op and dtype pairs that an engine cannot run. Tries all in one graph; if that fails, bisects the list.
 * @param run loads and runs a graph with the nodes of some pairs, see `emitPairs`
 * @param together the most pairs in one graph
 * @returns the engine's error for each pair that it cannot run, by `pairKey`
 */
export async function missingPairs(
  pairs: readonly ProbePair[],
  run: (pairs: readonly ProbePair[]) => Promise<unknown>,
  together: number = Math.max(1, pairs.length),
): Promise<ReadonlyMap<string, string>> {
  const missing = new Map<string, string>();
  const search = async (some: readonly ProbePair[]): Promise<void> => {
    const refusal = await refusalOf(() => run(some));
    const [only] = some;
    if (refusal === undefined || only === undefined) return;
    if (some.length === 1) {
      missing.set(pairKey(only), refusal);
      return;
    }
    const middle = some.length >> 1;
    await search(some.slice(0, middle));
    await search(some.slice(middle));
  };
  for (let start = 0; start < pairs.length; start += together)
    await search(pairs.slice(start, start + together));
  return missing;
}
