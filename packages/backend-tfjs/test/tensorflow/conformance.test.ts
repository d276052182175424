import { inSuite, suiteCases } from "@mp/conformance";
import { trainingCases } from "@mp/conformance/training";
import { describeConformance } from "@mp/conformance/vitest";
import { tfjs } from "../../src/index.js";
import { withTensorFlow } from "./installed-tensorflow.js";

// A second worker runs the others, in operators.test.ts.
await withTensorFlow((tf) =>
  describeConformance({
    factory: () => tfjs({ tf }),
    cases: [...suiteCases, ...inSuite(trainingCases)].filter(({ id }) => !/^(op|rewrite)\//.test(id)),
  }),
);
