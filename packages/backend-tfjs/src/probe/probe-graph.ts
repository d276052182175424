import { GraphBuilder, type HostTensor, ones, type Value } from "@mp/graph";
import * as probes from "@mp/graph/probe";

/** Builds one graph that has one or two nodes for each pair, with ones as inputs, and returns all results. */
export function probeGraph(pairs: readonly probes.ProbePair[]): probes.ProbeGraph {
  const builder = new GraphBuilder();
  const inputs: Record<string, HostTensor> = {};
  const results = new Map<string, Value>();
  probes.emitPairs(
    builder,
    pairs,
    (shape, dtype) => {
      const name = `${dtype} ${shape.join()}`;
      // Zeros would cause a division by 0.
      inputs[name] = ones(shape, dtype);
      return builder.input(name, { dtype, shape }, "batch");
    },
    (_, made) => {
      for (const result of made) results.set(`r${results.size}`, result);
    },
  );
  return { graph: builder.finish(results), inputs };
}
