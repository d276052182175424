import { inSuite, suiteCases } from "@mp/conformance";
import { trainingCases } from "@mp/conformance/training";
import { describeConformance } from "@mp/conformance/vitest";
import { openvino } from "../../src/index.js";

// A second worker runs the others, in operators.test.ts.
describeConformance({
  factory: () => openvino(),
  cases: [...suiteCases, ...inSuite(trainingCases)].filter(({ id }) => !/^(op|rewrite)\//.test(id)),
});
