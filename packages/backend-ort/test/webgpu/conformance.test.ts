import { trainingCases } from "@mp/conformance/training";
import { describeConformance } from "@mp/conformance/vitest";
import { ort } from "../../src/index.js";
import { knownFailures } from "./known-failures.js";

describeConformance({ factory: () => ort({ device: "webgpu" }), knownFailures, training: trainingCases });
