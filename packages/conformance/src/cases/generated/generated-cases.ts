import type { DType } from "@mp/core";
import { type Op, opDTypes } from "@mp/core/graph";
import type { ConformanceCase } from "../../conformance-case.js";
import type { GeneratedRow, GeneratedRows } from "../../samples/generated-row.js";
import { graphCase } from "../kinds/graph-case.js";
import { sampleGraph } from "../kinds/op-cases.js";

/** One case for each op of the table and each dtype that it takes, among those of `dtypes`; of its samples those `chosen`. */
export function generatedCases<O extends Op>(
  group: string,
  behaviour: string,
  rows: GeneratedRows<O>,
  dtypes: readonly DType[],
  chosen: <S>(dtype: DType, samples: readonly S[]) => readonly S[] = (_, samples) => samples,
): readonly ConformanceCase[] {
  const casesOf = <K extends O>(op: K): readonly ConformanceCase[] => {
    const row: GeneratedRow<K> = rows[op];
    const taken = opDTypes[op].filter((dtype) => dtypes.includes(dtype));
    // Those of the operators whose only dtype is another one, such as random bits.
    return (taken.length === 0 ? opDTypes[op].slice(0, 1) : taken).map((dtype) =>
      graphCase(`${group}/${op}-${dtype}/${behaviour}`, ({ random }) =>
        sampleGraph(op, chosen(dtype, row(dtype, random))),
      ),
    );
  };
  return (Object.keys(rows) as O[]).flatMap((op) => casesOf(op));
}
