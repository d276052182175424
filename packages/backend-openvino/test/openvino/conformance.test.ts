import { describeConformance } from "@mp/conformance/vitest";
import { openvino } from "../../src/index.js";

// Compiling takes longer than in proportion to a graph, and rounding to halves takes 20 nodes.
describeConformance({ factory: () => openvino(), parts: 20, timeoutMs: 300_000 });
