/** Operators on tensors of which all sides are equal, where only the values show that two axes were exchanged. */
import type { DType } from "@mp/core";
import type { ConformanceCase } from "../../conformance-case.js";
import { sideSamples } from "../../samples/equal-sides/side-samples.js";
import { generatedCases } from "./generated-cases.js";

/** One dtype of each kind that engines treat differently. */
const DTYPES: readonly DType[] = ["f32", "f16", "i32", "bool"];

export const equalSideCases: readonly ConformanceCase[] = generatedCases(
  "equal-sides",
  "every-axis",
  sideSamples,
  DTYPES,
  // Which axis is which does not depend on the dtype: of the others each has a third.
  (dtype, samples) =>
    dtype === "f32" ? samples : samples.filter((_, at) => at % 3 === DTYPES.indexOf(dtype) % 3),
);
