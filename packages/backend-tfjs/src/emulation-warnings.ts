import type { BackendManifest, BackendWarning, Graph } from "@mp/core";

/** One warning per half that the graph computes in without gaining time by it. */
export function emulationWarnings(
  graph: Graph,
  { dtypes, engine, device }: BackendManifest,
): readonly BackendWarning[] {
  const used = new Set(graph.nodes.flatMap((node) => node.outputs.map((output) => output.dtype)));
  return (["f16", "bf16"] as const)
    .filter((dtype) => {
      const support = dtypes[dtype];
      return used.has(dtype) && "compute" in support && support.compute === "emulated";
    })
    .map((dtype) => ({
      type: "emulated",
      message: `${dtype} is multiplied in f32 by ${engine.name} ${engine.version} on ${device}: exact results in half the memory, no speed-up`,
    }));
}
