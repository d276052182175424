import type { HostTensor, Op } from "@mp/graph";
import { EXACT } from "../../compare/allowance.js";
import type { ConformanceCase } from "../../conformance-case.js";
import type { RandomSource } from "../../random-source.js";
import type { OpSample } from "../../samples/op-sample.js";
import { graphCase } from "../kinds/graph-case.js";
import { sampleGraph } from "../kinds/op-cases.js";

/** A node with its expected results, computed with bigints and not by the oracle. */
export interface KnownSample<K extends Op> extends OpSample<K> {
  readonly want: readonly HostTensor[];
}

/** A case whose results must be exact, whatever tolerance the manifest declares. */
export function integerCase<K extends Op>(
  id: string,
  op: K,
  build: (random: RandomSource) => readonly KnownSample<K>[],
): ConformanceCase {
  return graphCase(id, ({ random }) => {
    const samples = build(random);
    return {
      ...sampleGraph(op, samples),
      allowance: () => EXACT,
      want: Object.fromEntries(
        samples.flatMap(({ want }, index) =>
          want.map((tensor, place) => [`sample${index}.result${place}`, tensor] as const),
        ),
      ),
    };
  });
}
