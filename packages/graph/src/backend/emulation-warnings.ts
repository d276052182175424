import type { BackendWarning } from "../contract/backend.js";
import { type BackendManifest, unsupportedReason } from "../contract/manifest.js";
import type { DType } from "../dtype.js";
import type { Graph } from "../graph/graph.js";
import { opTable } from "../graph/op-table.js";

/**
 * One warning for each dtype of the graph that the backend computes in another dtype; `advice` tells the user what to
 * do. An f16 or bf16 value that is only moved and cast, such as a frozen weight, costs nothing and gives no warning.
 */
export function emulationWarnings(
  name: string,
  manifest: BackendManifest,
  graph: Graph,
  advice?: string,
): readonly BackendWarning[] {
  const dtypes = findDTypes(graph.nodes);
  const computed = findDTypes(
    graph.nodes.filter(({ op }) => op !== "Cast" && opTable[op].moves === undefined),
  );
  return [...dtypes].flatMap((dtype) => {
    const support = manifest.dtypes[dtype];
    if (unsupportedReason(support) !== undefined || !("storage" in support)) return [];
    if (support.compute === "native") return [];
    if (dtype === "i64") {
      const message = `${name}: i64 is held as ${support.storage}: data beyond it is refused, and results must not be`;
      return [{ type: "emulated", message } as const];
    }
    if (!computed.has(dtype)) return [];
    const { storage } = support;
    const same = storage === dtype ? `and memory as ${dtype}` : `as ${dtype}, memory of ${storage}`;
    const message = `${name}: ${dtype} is emulated: same results ${same}, no faster than f32`;
    return [{ type: "emulated", message: advice === undefined ? message : `${message}; ${advice}` } as const];
  });
}

const findDTypes = (nodes: Graph["nodes"]): ReadonlySet<DType> =>
  new Set(nodes.flatMap((node) => node.outputs.map((output) => output.dtype)));
