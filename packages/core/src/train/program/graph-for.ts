import { widenSums } from "../../cast/widen-sums.js";
import type { Graph } from "../../graph/graph.js";
import { type BackendManifest, unsupportedReason } from "../../manifest.js";
import { prepareGraph } from "../../transform/prepare.js";
import { unrollScans } from "../../transform/scan/unroll.js";

/** What a backend compiles in place of a program's graph: loops unrolled that it does not support, sums in f32. */
export function graphFor(graph: Graph, manifest: BackendManifest): Graph {
  const hasLoops = graph.nodes.some(({ op }) => op === "Scan");
  const isUnrolled = hasLoops && unsupportedReason(manifest.ops.Scan) !== undefined;
  return widenSums(isUnrolled ? prepareGraph(unrollScans(graph)) : graph, manifest);
}
