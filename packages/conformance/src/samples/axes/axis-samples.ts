import type { OpRows } from "../op-sample.js";
import type { AxisOp } from "./axis-row.js";
import { binaryAxes } from "./binary-axes.js";
import { indexingAxes } from "./indexing-axes.js";
import { movementAxes } from "./movement-axes.js";
import { normalizationAxes } from "./normalization-axes.js";
import { reduceAxes } from "./reduce-axes.js";

/** Samples along each axis. An op with axes that has no entry is a type error. */
export const axisSamples: OpRows<AxisOp> = {
  ...binaryAxes,
  ...reduceAxes,
  ...normalizationAxes,
  ...movementAxes,
  ...indexingAxes,
};
