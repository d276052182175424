import { type DType, type Op, opDTypes } from "@mp/graph";
import type { ConformanceCase } from "../../conformance-case.js";
import type { AxisSamples } from "../../samples/axis-data.js";
import type { GeneratedRow } from "../../samples/op-row.js";
import { opRows } from "../../samples/op-table.js";
import { graphCase } from "../kinds/graph-case.js";
import { sampleGraph } from "../kinds/op-cases.js";

/** Columns of a row. The type of the row itself says which op has which. */
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
    // Those of the operators whose only dtype is another one, such as random bits.
    return (taken.length === 0 ? opDTypes[op].slice(0, 1) : taken).map((dtype) =>
      graphCase(`${group}/${op}-${dtype}/${behaviour}`, ({ random }) =>
        sampleGraph(op, samples({ random, dtype })),
      ),
    );
  });
}
