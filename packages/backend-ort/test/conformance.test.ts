import { describeConformance } from "@mp/conformance/vitest";
import { ort } from "../src/index.js";

describeConformance({ factory: () => ort(), parts: 5 });
