import type { DType, Op } from "@mp/graph";
import type { ConformanceCase } from "../../conformance-case.js";
import type { Sampled } from "../../samples/op-sample.js";
import { graphCase } from "../kinds/graph-case.js";
import { sampleGraph } from "../kinds/op-cases.js";

/** One case for each dtype and behavior of an op's samples, with a node for each sample. Makes samples in runs only. */
export function sampleCases<K extends Op>(
  group: string,
  op: K,
  samples: Sampled<K>,
  behaviours: (dtype: DType) => readonly string[],
  dtypes: readonly DType[],
): readonly ConformanceCase[] {
  return dtypes.flatMap((dtype) =>
    behaviours(dtype).map((behaviour) =>
      graphCase(`${group}/${op}-${dtype}/${behaviour}`, ({ random }) =>
        sampleGraph(op, samples({ dtype, random })[behaviour] ?? []),
      ),
    ),
  );
}
