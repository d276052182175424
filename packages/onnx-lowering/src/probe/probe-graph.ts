import { type Graph, GraphBuilder, ones } from "@mp/graph";
import * as probes from "@mp/graph/probe";

/**
 * Builds one graph that has one or two nodes on constants for each pair. Nothing reads the results of these
 * nodes; the graph returns a constant.
 */
export function probeGraph(pairs: readonly probes.ProbePair[]): Graph {
  const builder = new GraphBuilder();
  const result = builder.literal(1, "f32");
  probes.emitPairs(
    builder,
    pairs,
    // Zeros would cause a division by 0.
    (shape, dtype) => builder.constant(ones(shape, dtype)),
    () => undefined,
  );
  return builder.finish({ result });
}
