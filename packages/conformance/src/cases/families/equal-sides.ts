/** Operators on tensors whose sides are all equal, so that only the values show an exchange of two axes. */
import { DTYPES, isComputeFloat, isFloat } from "@mp/graph";
import type { ConformanceCase } from "../../conformance-case.js";
import { columnCases } from "./column-cases.js";

/** All dtypes but f8, which is only moved, and not by every form of a scatter. */
const SIDED = DTYPES.filter((dtype) => !isFloat(dtype) || isComputeFloat(dtype));

export const equalSideCases: readonly ConformanceCase[] = columnCases(
  "equal-sides",
  "every-axis",
  "sides",
  SIDED,
  // Which axis is which does not depend on the dtype: of the others each has a third.
  (dtype, samples) =>
    dtype === "f32" ? samples : samples.filter((_, at) => at % 3 === DTYPES.indexOf(dtype) % 3),
);
