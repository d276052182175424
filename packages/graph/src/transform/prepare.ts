import { withBodies } from "../graph/build/with-bodies.js";
import type { Graph } from "../graph/graph.js";
import { hoistInvariants } from "../graph/scan/hoist-invariants.js";
import { eliminateCommonSubexpressions } from "./common-subexpressions.js";
import { foldConstants } from "./constant-folding.js";
import { eliminateDeadCode } from "./dead-code.js";
import { fuseSliceGradients } from "./fuse-slice-gradients.js";
import { fuseWeightGradients } from "./fuse-weight-gradients.js";
import { scheduleGraph } from "./schedule.js";

/**
 * Common subexpressions are eliminated before and after the fusions, which leave duplicates of what they concatenate.
 */
const passes: readonly ((graph: Graph) => Graph)[] = [
  eliminateDeadCode,
  hoistInvariants,
  withBodies(foldConstants),
  withBodies(eliminateCommonSubexpressions),
  fuseSliceGradients,
  fuseWeightGradients,
  withBodies(eliminateCommonSubexpressions),
  eliminateDeadCode,
  withBodies(scheduleGraph),
];

/** Runs the clean-ups that every program gets before a backend sees it. Backends run nodes in the new order. */
export function prepareGraph(graph: Graph): Graph {
  return passes.reduce((current, pass) => pass(current), graph);
}
