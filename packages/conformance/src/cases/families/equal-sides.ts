/** Operators on tensors whose axes all have one size, so that only the values show an exchange of two axes. */
import type { ConformanceCase } from "../../conformance-case.js";
import { CUBES } from "../../samples/axis-data.js";
import { columnCases } from "./column-cases.js";

/** In the first dtype: engines treat axes alike in all. */
export const equalSideCases: readonly ConformanceCase[] = columnCases(
  "equal-sides",
  "every-axis",
  ["f32"],
  ({ axes, sides }) => sides ?? (axes && ((draws) => Object.values(axes(draws, CUBES)).flat())),
);
