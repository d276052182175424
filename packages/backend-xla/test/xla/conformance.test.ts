import { trainingCases } from "@mp/conformance/training";
import { describeConformance } from "@mp/conformance/vitest";
import { open } from "./open.js";

// Programs of many scatters take 20 s of processor time to compile.
describeConformance({ factory: () => open(), training: trainingCases, timeoutMs: 240_000 });
