import { trainingCases } from "@mp/conformance/training";
import { describeConformance } from "@mp/conformance/vitest";
import { open } from "./open.js";

describeConformance({ factory: () => open(), training: trainingCases });
