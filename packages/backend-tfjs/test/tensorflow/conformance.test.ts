import { trainingCases } from "@mp/conformance/training";
import { describeConformance } from "@mp/conformance/vitest";
import { tfjs } from "../../src/index.js";
import { withTensorFlow } from "./installed-tensorflow.js";

await withTensorFlow((tf) => describeConformance({ factory: () => tfjs({ tf }), training: trainingCases }));
