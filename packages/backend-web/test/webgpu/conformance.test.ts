import { allCases } from "@mp/conformance";
import { describeConformance } from "@mp/conformance/vitest";
import { ortWeb } from "../../src/index.js";
import { isRun } from "../groups.js";
import { installWebgpu } from "./dawn.js";

installWebgpu();
// A machine without a GPU runs shaders on its processor.
describeConformance({
  factory: () => ortWeb(),
  cases: allCases.filter(isRun),
  timeoutMs: 290_000,
});
