import { type Graph, GraphBuilder, ones } from "@mp/graph";
import * as probes from "@mp/graph/probe";

/**
 * Builds one graph with a node or two for each pair, on constants. Nothing reads their results; the graph returns
 * another one.
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
