/** Operators on tensors whose axes all have one size, so that only the values show an exchange of two axes. */
import { DTYPES, isComputeFloat, isFloat } from "@mp/graph";
import type { ConformanceCase } from "../../conformance-case.js";
import { CUBES } from "../../samples/axis-data.js";
import { columnCases } from "./column-cases.js";

/** All dtypes except f8, because operators only move f8, and some forms of scatter reject it. */
const SIDED = DTYPES.filter((dtype) => !isFloat(dtype) || isComputeFloat(dtype));

export const equalSideCases: readonly ConformanceCase[] = columnCases(
  "equal-sides",
  "every-axis",
  SIDED,
  ({ axes, sides }) => {
    const all = sides ?? (axes && ((draws) => Object.values(axes(draws, CUBES)).flat()));
    // Engines treat axes alike in all dtypes: f32 has all samples, each other dtype has a third.
    return (
      all &&
      ((draws) =>
        all(draws).filter((_, at) => draws.dtype === "f32" || at % 3 === DTYPES.indexOf(draws.dtype) % 3))
    );
  },
);
