import {
  type AnyNode,
  type BackendManifest,
  decidingDType,
  type Graph,
  type HalfDType,
  isHalf,
  type Op,
  widenNodes,
} from "@mp/graph";
import { accumulatorOf, addsUp, type BackendWarning, deepNodes, supportsOp } from "@mp/graph/internal";

/**
 * Rewrites a graph for an engine whose kernels accumulate f16 or bf16 in the same dtype, where small terms are lost.
 * Nodes that accumulate in a half dtype, according to the manifest, are computed in f32 and rounded once. Apply it
 * after differentiation: a gradient accumulates with other operators than its forward node.
 */
export function widenSums(graph: Graph, manifest: BackendManifest): Graph {
  return widenNodes(graph, (node) => narrowHalf(node, manifest) !== undefined);
}

/** The half dtype that a node would accumulate in; undefined if that is f32, or the engine lacks the op in f32. */
function narrowHalf(node: AnyNode, manifest: BackendManifest): HalfDType | undefined {
  const dtype = decidingDType(node);
  if (!isHalf(dtype) || !addsUp(node) || accumulatorOf(manifest, node.op, dtype) === "f32") return undefined;
  return supportsOp(manifest, node.op, "f32") ? dtype : undefined;
}

/** One warning for each half-precision dtype in which the backend would accumulate a sum of this graph. */
export function sumWarnings(
  name: string,
  manifest: BackendManifest,
  graph: Graph,
): readonly BackendWarning[] {
  const found = new Map<HalfDType, Set<Op>>();
  for (const node of deepNodes(graph)) {
    const half = narrowHalf(node, manifest);
    if (half === undefined) continue;
    const ops = found.get(half) ?? new Set<Op>();
    found.set(half, ops.add(node.op));
  }
  return [...found].map(([half, ops]) => ({
    type: "emulated",
    message: `${name}: adds up ${half} in ${half}, which loses small terms, in ${[...ops].join(", ")}; these are computed in f32 and rounded, no faster than f32`,
  }));
}
