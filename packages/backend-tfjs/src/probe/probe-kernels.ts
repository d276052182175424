import { MpError } from "@mp/core";
import { type ProbePair, pairKey } from "@mp/core/backend";
import type { TfjsBinding } from "../load/index.js";
import { probeGraph } from "./probe-graph.js";
import { runGraph } from "./run-graph.js";

/**
 * As many nodes as TensorFlow prepares at little more cost than one; memory that it takes to prepare more is never
 * returned.
 */
const TOGETHER = 64;

/**
 * Probes ops in dtypes, lowered as they will be: all in one session that is loaded and run; where that fails, each half
 * of the pairs separately.
 * @returns the engine's error for each pair that it cannot run
 */
export async function missingKernels(
  binding: TfjsBinding,
  pairs: readonly ProbePair[],
  isWidened: boolean,
): Promise<ReadonlyMap<string, string>> {
  const missing = new Map<string, string>();
  const search = async (some: readonly ProbePair[]): Promise<void> => {
    const failure = await failureOf(binding, some, isWidened);
    const [only] = some;
    if (failure === undefined || only === undefined) return;
    if (some.length === 1) {
      missing.set(pairKey(only), failure);
      return;
    }
    const middle = some.length >> 1;
    await search(some.slice(0, middle));
    await search(some.slice(middle));
  };
  for (let start = 0; start < pairs.length; start += TOGETHER)
    await search(pairs.slice(start, start + TOGETHER));
  return missing;
}

/** The engine's error for those pairs; undefined when it runs them all. */
async function failureOf(
  binding: TfjsBinding,
  pairs: readonly ProbePair[],
  isWidened: boolean,
): Promise<string | undefined> {
  const { graph, inputs } = probeGraph(pairs);
  try {
    await runGraph(binding, graph, inputs, () => isWidened);
    return undefined;
  } catch (error) {
    if (MpError.is(error) && error.code !== "MP_OUT_OF_MEMORY") return error.message;
    throw error;
  }
}
