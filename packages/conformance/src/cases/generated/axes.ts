/** Every op along each of its axes, at ranks 1 to 5, in every dtype. */
import type { ConformanceCase } from "../../conformance-case.js";
import type { AxisOp } from "../../samples/axes/axis-row.js";
import { axisSamples } from "../../samples/axes/axis-samples.js";
import { sampleCases } from "./sample-cases.js";

const casesOf = <K extends AxisOp>(op: K): readonly ConformanceCase[] =>
  sampleCases("axis", op, axisSamples[op]);

export const axisCases: readonly ConformanceCase[] = (Object.keys(axisSamples) as AxisOp[]).flatMap((op) =>
  casesOf(op),
);
