/** One case for each op, dtype and behavior of the rare forms. */
import type { Op } from "@mp/graph";
import type { ConformanceCase } from "../../conformance-case.js";
import { opRows } from "../../samples/op-table.js";
import type { RareRow } from "../../samples/rare-row.js";
import { graphCase } from "../kinds/graph-case.js";
import { sampleGraph } from "../kinds/op-cases.js";
import { booleanByteCases } from "./boolean-bytes.js";
import { planeCases } from "./nan-in-planes.js";

function rareOpCases<K extends Op>(op: K): readonly ConformanceCase[] {
  const { rare = [] }: { readonly rare?: readonly RareRow<K>[] } = opRows[op];
  return rare.flatMap(({ behaviour, dtypes, samples }) =>
    dtypes.map((dtype) =>
      graphCase(`rare/${op}-${dtype}/${behaviour}`, () => sampleGraph(op, samples(dtype))),
    ),
  );
}

export const rareCases: readonly ConformanceCase[] = [
  ...(Object.keys(opRows) as Op[]).flatMap((op) => rareOpCases(op)),
  ...planeCases,
  ...booleanByteCases,
];
