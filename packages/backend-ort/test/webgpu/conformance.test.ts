import { describeConformance } from "@mp/conformance/vitest";
import { ort } from "../../src/index.js";
import { knownFailures } from "../../src/known-failures.js";

describeConformance({ factory: () => ort({ device: "webgpu" }), knownFailures });
