import { describeConformance } from "@mp/conformance/vitest";
import { ortWeb } from "../../src/index.js";
import { cases } from "../groups.js";
import { installWebgpu } from "./dawn.js";

installWebgpu();
// A machine without a GPU runs shaders on its processor.
describeConformance({
  factory: () => ortWeb(),
  cases,
  timeoutMs: 290_000,
});
