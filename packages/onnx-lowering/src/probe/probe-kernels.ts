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

/** Every op in every dtype it exists in, except emulated half dtypes, which are f32 to the engine. */
export function pairsFor({ emulated }: Target): readonly probes.ProbePair[] {
  return opPairs.filter(({ dtype }) => !(emulated as readonly DType[]).includes(dtype));
}

/** Probes ops in dtypes, in their lowered form. @param refused dtypes that the device does not use */
export const probeKernels = (
  engine: ProbedEngine,
  target: Target,
  asked: readonly probes.ProbePair[],
  refused: RefusedDTypes = {},
): Promise<Missing> =>
  probes.missingPairs(asked, (pairs) => runGraph(engine, without(refused, probeGraph(pairs)), target));

/** Drops casts to dtypes that the device does not use: they say nothing about casts from other dtypes. */
function without(refused: RefusedDTypes, graph: Graph): Graph {
  const isUsed = ({ inputs, outputs }: AnyNode): boolean =>
    [...inputs, ...outputs].every(({ dtype }) => refused[dtype] === undefined);
  return { ...graph, nodes: graph.nodes.filter(isUsed) };
}
