import { describeConformance } from "@mp/conformance/vitest";
import { tfjs } from "../src/index.js";
import { knownFailures } from "../src/known-failures.js";
import { installedTensorFlow } from "./installed-tensorflow.js";

const tf = await installedTensorFlow();

if (tf !== undefined) describeConformance({ factory: () => tfjs({ tf }), knownFailures });
