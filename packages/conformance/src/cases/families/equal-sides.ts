/** Operators on tensors whose sides are all equal, so that only the values show an exchange of two axes. */
import { DTYPES, isComputeFloat, isFloat } from "@mp/graph";
import type { ConformanceCase } from "../../conformance-case.js";
import { CUBES } from "../../samples/axis-data.js";
import { columnCases } from "./column-cases.js";

/** All dtypes but f8, which is only moved, and not by every form of a scatter. */
const SIDED = DTYPES.filter((dtype) => !isFloat(dtype) || isComputeFloat(dtype));

export const equalSideCases: readonly ConformanceCase[] = columnCases(
  "equal-sides",
  "every-axis",
  SIDED,
  ({ axes, sides }) => {
    const all = sides ?? (axes && ((draws) => Object.values(axes(draws, CUBES)).flat()));
    // Which axis is which does not depend on the dtype: of the others each has a third.
    return (
      all &&
      ((draws) =>
        all(draws).filter((_, at) => draws.dtype === "f32" || at % 3 === DTYPES.indexOf(draws.dtype) % 3))
    );
  },
);
