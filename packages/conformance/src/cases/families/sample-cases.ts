import { type DType, type Op, opDTypes } from "@mp/graph";
import type { ConformanceCase } from "../../conformance-case.js";
import { withoutData } from "../../host-data.js";
import { randomSource } from "../../random-source.js";
import type { Sampled } from "../../samples/op-sample.js";
import { graphCase } from "../kinds/graph-case.js";
import { sampleGraph } from "../kinds/op-cases.js";

/** One case for each dtype and behavior of an op's samples, with a node for each sample. */
export function sampleCases<K extends Op>(
  group: string,
  op: K,
  samples: Sampled<K>,
  dtypes: readonly DType[] = opDTypes[op],
): readonly ConformanceCase[] {
  return dtypes.flatMap((dtype) =>
    Object.keys(withoutData(() => samples({ dtype, random: randomSource(0, "") }))).map((behaviour) =>
      graphCase(`${group}/${op}-${dtype}/${behaviour}`, ({ random }) =>
        sampleGraph(op, samples({ dtype, random })[behaviour] ?? []),
      ),
    ),
  );
}
