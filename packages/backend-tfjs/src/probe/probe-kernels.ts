import * as probes from "@mp/graph/probe";
import type { TfjsBinding } from "../load/index.js";
import { probeGraph } from "./probe-graph.js";
import { runGraph } from "./run-graph.js";

/**
 * Number of nodes per graph. TensorFlow prepares so many nodes at little more cost than one; the memory for preparing
 * more nodes is never returned.
 */
const TOGETHER = 64;

/** Finds the pairs that the engine cannot run in their lowered form. @returns the errors, by `pairKey` */
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
