import { type BackendManifest, expandAttentions, type Graph, prepareGraph } from "@mp/graph";
import { unsupportedReason } from "@mp/graph/backend";
import { unrollScans } from "@mp/graph/internal";
import { widenSums } from "../../cast/widen-sums.js";

/** The graph that a backend compiles: loops and attention expanded if it lacks them, sums of half dtypes widened. */
export function graphFor(graph: Graph, manifest: BackendManifest): Graph {
  const lacks = (op: "Scan" | "Attention"): boolean => unsupportedReason(manifest.ops[op]) !== undefined;
  const hasLoops = graph.nodes.some(({ op }) => op === "Scan");
  const flat = hasLoops && lacks("Scan") ? unrollScans(graph) : graph;
  const expanded = lacks("Attention") ? expandAttentions(flat) : flat;
  return widenSums(expanded === graph ? graph : prepareGraph(expanded), manifest);
}
