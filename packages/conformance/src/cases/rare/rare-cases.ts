/** One case for each op, dtype and behavior of the tables of rare forms. */
import type { DType } from "@mp/core";
import type { Op } from "@mp/core/graph";
import type { ConformanceCase } from "../../conformance-case.js";
import { graphCase } from "../../graph-case.js";
import { randomSource } from "../../random-source.js";
import type { RareRow } from "../../samples/rare/rare-row.js";
import { rareSamples } from "../../samples/rare/rare-samples.js";
import { sampleGraph } from "../op-cases.js";
import { booleanByteCases } from "./boolean-bytes.js";
import { planeCases } from "./nan-in-planes.js";

function casesOf<K extends Op>(op: K, { dtypes, samples }: RareRow<K>): readonly ConformanceCase[] {
  return dtypes.flatMap((dtype: DType) =>
    Object.keys(samples(dtype, randomSource(0, ""))).map((behaviour) =>
      graphCase(`rare/${op}-${dtype}/${behaviour}`, ({ random }) =>
        sampleGraph(op, samples(dtype, random)[behaviour] ?? []),
      ),
    ),
  );
}

export const rareCases: readonly ConformanceCase[] = [
  ...rareSamples.flatMap((rows) =>
    (Object.keys(rows) as Op[]).flatMap((op) => {
      const row = rows[op] as RareRow<typeof op> | undefined;
      return row === undefined ? [] : casesOf(op, row);
    }),
  ),
  ...planeCases,
  ...booleanByteCases,
];
