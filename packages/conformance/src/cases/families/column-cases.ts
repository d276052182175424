import { type DType, type Op, opDTypes } from "@mp/graph";
import type { ConformanceCase } from "../../conformance-case.js";
import type { AxisSamples } from "../../samples/axis-data.js";
import type { GeneratedRow } from "../../samples/op-row.js";
import { opRows } from "../../samples/op-table.js";
import { graphCase } from "../kinds/graph-case.js";
import { sampleGraph } from "../kinds/op-cases.js";

/** Columns that a row of the sample tables may have. The type of an op's row says which it has. */
export interface Columns {
  readonly tails?: GeneratedRow<Op>;
  readonly sides?: GeneratedRow<Op>;
  readonly axes?: AxisSamples<Op>;
}

/** One case for each op that has samples by `column`, in each of `dtypes` that the op takes. */
export function columnCases(
  group: string,
  behaviour: string,
  dtypes: readonly DType[],
  column: (row: Columns) => GeneratedRow<Op> | undefined,
): readonly ConformanceCase[] {
  return (Object.keys(opRows) as Op[]).flatMap((op) => {
    const samples = column(opRows[op] as Columns);
    if (samples === undefined) return [];
    const taken = opDTypes[op].filter((dtype) => dtypes.includes(dtype));
    // An op that takes none of `dtypes`, such as random bits, has a case in its own first dtype.
    return (taken.length === 0 ? opDTypes[op].slice(0, 1) : taken).map((dtype) =>
      graphCase(`${group}/${op}-${dtype}/${behaviour}`, ({ random }) =>
        sampleGraph(op, samples({ random, dtype })),
      ),
    );
  });
}
