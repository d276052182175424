import { inSuite, suiteCases } from "@mp/conformance";
import { trainingCases } from "@mp/conformance/training";
import { describeConformance } from "@mp/conformance/vitest";
import { open } from "./open.js";

// A second worker runs the others, in operators.test.ts.
describeConformance({
  factory: () => open(),
  cases: [...suiteCases, ...inSuite(trainingCases)].filter(({ id }) => !/^(op|rewrite)\//.test(id)),
});
