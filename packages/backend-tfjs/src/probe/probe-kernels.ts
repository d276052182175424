import * as probes from "@mp/graph/probe";
import type { TfjsBinding } from "../load/index.js";
import { probeGraph } from "./probe-graph.js";
import { runGraph } from "./run-graph.js";

/**
 * Number of nodes that TensorFlow prepares at little more cost than one; the memory to prepare more is never
 * returned.
 */
const TOGETHER = 64;

/** The engine's error for each of the pairs that it cannot run in its lowered form. */
export function missingKernels(
  binding: TfjsBinding,
  pairs: readonly probes.ProbePair[],
  isWidened: boolean,
): Promise<ReadonlyMap<string, string>> {
  const run = (some: readonly probes.ProbePair[]): Promise<unknown> => {
    const { graph, inputs } = probeGraph(some);
    return runGraph(binding, graph, inputs, () => isWidened);
  };
  return probes.missingPairs(pairs, run, TOGETHER);
}
