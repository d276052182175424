import type { BackendManifest } from "../contract/manifest.js";
import type { Op } from "../graph/attributes.js";
import { withBodies } from "../graph/build/with-bodies.js";
import type { Graph } from "../graph/graph.js";
import { opTable } from "../graph/op-table.js";
import { hoistInvariants } from "../graph/scan/hoist-invariants.js";
import { eliminateCommonSubexpressions } from "./common-subexpressions.js";
import { foldConstants } from "./constant-folding.js";
import { eliminateDeadCode } from "./dead-code.js";
import { expandAttentions } from "./expand-attention.js";
import { fuseSliceGradients } from "./fuse-slice-gradients.js";
import { fuseWeightGradients } from "./fuse-weight-gradients.js";
import { scheduleGraph } from "./schedule.js";

/**
 * Common subexpressions are eliminated before and after the fusions, which leave duplicates of concatenated values.
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

/**
 * Runs the clean-ups that every program gets before a backend sees it. Backends run nodes in the new order.
 * @param manifest of the engine that gets the graph. Operators with `parts` in the op table are replaced by their
 *   parts, unless this manifest supports them
 */
export function prepareGraph(graph: Graph, manifest?: Pick<BackendManifest, "ops">): Graph {
  const isKept = (op: Op): boolean =>
    opTable[op].parts === undefined || (manifest !== undefined && Array.isArray(manifest.ops[op]));
  const expanded = expandAttentions(graph, ({ op }) => !isKept(op));
  return passes.reduce((current, pass) => pass(current), expanded);
}
