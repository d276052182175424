/** Operators and rewrites, about half of the suite's time: a second worker runs the other half in conformance.test.ts. */
import { suiteCases } from "@mp/conformance";
import { describeConformance } from "@mp/conformance/vitest";
import { tfjs } from "../../src/index.js";
import { withTensorFlow } from "./installed-tensorflow.js";

await withTensorFlow((tf) =>
  describeConformance({
    factory: () => tfjs({ tf }),
    cases: suiteCases.filter(({ id }) => /^(op|rewrite)\//.test(id)),
  }),
);
