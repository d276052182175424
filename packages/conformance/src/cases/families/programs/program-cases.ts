/** Engines cache compiled programs; no program may be taken for another one that is nearly the same. */
import type { ConformanceCase } from "../../../conformance-case.js";
import { attributeCases } from "./attributes.js";
import { bindingCases } from "./bindings.js";
import { constantCases } from "./constants.js";
import { structureCases } from "./structure.js";

export const programCases: readonly ConformanceCase[] = [
  ...attributeCases,
  ...constantCases,
  ...structureCases,
  ...bindingCases,
];
