import type { Graph } from "../graph/graph.js";
import { eliminateCommonSubexpressions } from "./common-subexpressions.js";
import { eliminateDeadCode } from "./dead-code.js";

const passes: readonly ((graph: Graph) => Graph)[] = [eliminateDeadCode, eliminateCommonSubexpressions];

/** The clean-ups that every program gets before a backend sees it; the order of nodes is then the order to run. */
export function prepareGraph(graph: Graph): Graph {
  return passes.reduce((current, pass) => pass(current), graph);
}
