import { type DType, opDTypes } from "@mp/graph";
import type { ConformanceCase } from "../../conformance-case.js";
import type { GeneratedRow, SideOp, TailOp } from "../../samples/op-row.js";
import { opRows, opsWith } from "../../samples/op-table.js";
import { graphCase } from "../kinds/graph-case.js";
import { sampleGraph } from "../kinds/op-cases.js";

/**
 * One case for each op with samples in the column and each of `dtypes` that the op takes, on the samples that
 * `chosen` keeps.
 */
export function columnCases(
  group: string,
  behaviour: string,
  column: "tails" | "sides",
  dtypes: readonly DType[],
  chosen: <S>(dtype: DType, samples: readonly S[]) => readonly S[] = (_, samples) => samples,
): readonly ConformanceCase[] {
  const opCases = <K extends SideOp | TailOp>(op: K): readonly ConformanceCase[] => {
    const row = (opRows[op] as unknown as Readonly<Record<typeof column, GeneratedRow<K>>>)[column];
    const taken = opDTypes[op].filter((dtype) => dtypes.includes(dtype));
    // Those of the operators whose only dtype is another one, such as random bits.
    return (taken.length === 0 ? opDTypes[op].slice(0, 1) : taken).map((dtype) =>
      graphCase(`${group}/${op}-${dtype}/${behaviour}`, ({ random }) =>
        sampleGraph(op, chosen(dtype, row({ random, dtype }))),
      ),
    );
  };
  return opsWith(column).flatMap((op) => opCases(op));
}
