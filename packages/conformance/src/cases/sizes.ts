/** Every op beyond the sizes at which engines switch to other code. */
import type { Op } from "@mp/core/graph";
import type { ConformanceCase } from "../conformance-case.js";
import { graphCase } from "../graph-case.js";
import { sizeSamples } from "../samples/sizes/size-samples.js";
import { sampleGraph } from "./op-cases.js";

const sizeCase = <K extends Op>(op: K): ConformanceCase =>
  graphCase(`size/${op}/beyond-65-536-elements`, () => sampleGraph(op, sizeSamples[op]()));

export const sizeCases: readonly ConformanceCase[] = (Object.keys(sizeSamples) as Op[]).map((op) =>
  sizeCase(op),
);
