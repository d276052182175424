/** Operators and rewrites: a second worker runs the other cases in conformance.test.ts. */
import { suiteCases } from "@mp/conformance";
import { describeConformance } from "@mp/conformance/vitest";
import { open } from "./open.js";

describeConformance({
  factory: () => open(),
  cases: suiteCases.filter(({ id }) => /^(op|rewrite)\//.test(id)),
});
