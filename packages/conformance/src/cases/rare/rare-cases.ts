/** One case for each op, dtype and behavior of the tables of rare forms. */
import type { Op } from "@mp/core/graph";
import type { ConformanceCase } from "../../conformance-case.js";
import { rareSamples } from "../../samples/rare/rare-samples.js";
import type { RareRow } from "../../samples/rare-row.js";
import { sampleCases } from "../generated/sample-cases.js";
import { booleanByteCases } from "./boolean-bytes.js";
import { planeCases } from "./nan-in-planes.js";

export const rareCases: readonly ConformanceCase[] = [
  ...rareSamples.flatMap((rows) =>
    (Object.keys(rows) as Op[]).flatMap((op) => {
      const row = rows[op] as RareRow<typeof op> | undefined;
      return row === undefined ? [] : sampleCases("rare", op, row);
    }),
  ),
  ...planeCases,
  ...booleanByteCases,
];
