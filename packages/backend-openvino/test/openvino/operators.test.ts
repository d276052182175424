/** Operators and rewrites, about half of the suite's time: a second worker runs the other half in conformance.test.ts. */
import { suiteCases } from "@mp/conformance";
import { describeConformance } from "@mp/conformance/vitest";
import { openvino } from "../../src/index.js";

describeConformance({
  factory: () => openvino(),
  cases: suiteCases.filter(({ id }) => /^(op|rewrite)\//.test(id)),
});
