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
 * The fusions leave duplicates of what they concatenate, so common subexpressions are eliminated before and after them.
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

/** The clean-ups that every program gets before a backend sees it; the order of nodes is then the order to run. */
export function prepareGraph(graph: Graph): Graph {
  return passes.reduce((current, pass) => pass(current), graph);
}
