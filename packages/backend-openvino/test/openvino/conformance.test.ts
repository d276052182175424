import { trainingCases } from "@mp/conformance/training";
import { describeConformance } from "@mp/conformance/vitest";
import { openvino } from "../../src/index.js";

describeConformance({ factory: () => openvino(), training: trainingCases });
