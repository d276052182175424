import { trainingCases } from "@mp/conformance/training";
import { describeConformance } from "@mp/conformance/vitest";
import { ort } from "../src/index.js";

describeConformance({ factory: () => ort(), training: trainingCases, timeoutMs: 290_000 });
