import { describeConformance } from "@mp/conformance/vitest";
import { ort } from "../../src/index.js";
import { casesOnWebgpu, knownFailures } from "./known-failures.js";

describeConformance({ factory: () => ort({ device: "webgpu" }), cases: casesOnWebgpu, knownFailures });
