import { describeConformance } from "@mp/conformance/vitest";
import { ort } from "../../src/index.js";
import { knownFailures } from "./known-failures.js";

// A machine without a GPU compiles shaders for its processor, which takes most of the time.
describeConformance({ factory: () => ort({ device: "webgpu" }), knownFailures, parts: 10 });
