import type { AnyNode, DType, Graph } from "@mp/graph";
import * as probes from "@mp/graph/probe";
import type { RefusedDTypes } from "../device-rules.js";
import { opPairs } from "../lowerings/op-pairs.js";
import type { Target } from "../lowerings/target.js";
import type { ProbedEngine } from "./engine.js";
import { probeGraph } from "./probe-graph.js";
import { runGraph } from "./run-graph.js";

/** The engine's error for each op that it cannot load or run in a dtype, by `pairKey`. */
export type Missing = ReadonlyMap<string, string>;

/** Lists every op in each of its dtypes, except emulated half dtypes, which the engine computes as f32. */
export function pairsFor({ emulated }: Target): readonly probes.ProbePair[] {
  return opPairs.filter(({ dtype }) => !(emulated as readonly DType[]).includes(dtype));
}

/** Probes each pair in its lowered form. @param refused dtypes that the device does not use */
export const probeKernels = (
  engine: ProbedEngine,
  target: Target,
  asked: readonly probes.ProbePair[],
  refused: RefusedDTypes = {},
): Promise<Missing> =>
  probes.missingPairs(asked, (pairs) => runGraph(engine, without(refused, probeGraph(pairs)), target));

/** Drops nodes with refused dtypes, so that if the cast to such a dtype fails, other casts are still tried. */
function without(refused: RefusedDTypes, graph: Graph): Graph {
  const isUsed = ({ inputs, outputs }: AnyNode): boolean =>
    [...inputs, ...outputs].every(({ dtype }) => refused[dtype] === undefined);
  return { ...graph, nodes: graph.nodes.filter(isUsed) };
}
