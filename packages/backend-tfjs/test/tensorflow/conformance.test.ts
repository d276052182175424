import { describeConformance } from "@mp/conformance/vitest";
import { tfjs } from "../../src/index.js";
import { withTensorFlow } from "./installed-tensorflow.js";

// The first run of each graph takes TensorFlow longer than all else.
await withTensorFlow((tf) => describeConformance({ factory: () => tfjs({ tf }), parts: 10 }));
