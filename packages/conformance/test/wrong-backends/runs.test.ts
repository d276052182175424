import { describe } from "vitest";
import { aliasingFaults } from "./aliasing-faults.js";
import { constantFaults } from "./constant-faults.js";
import { expectDetected } from "./expect-detected.js";
import { inPlaceFaults } from "./in-place-faults.js";
import { lifecycleFaults } from "./lifecycle-faults.js";
import { manyFaults } from "./many-faults.js";
import { manyRunsFaults } from "./many-runs-faults.js";
import { orderFaults } from "./order-faults.js";
import { programFaults } from "./program-faults.js";
import { repeatedRunFaults } from "./repeated-run-faults.js";
import { reportFaults } from "./report-faults.js";
import { stateFaults } from "./state-faults.js";
import { viewFaults } from "./view-faults.js";

describe("a backend that is wrong in programs, states, arrays or the order of calls", () => {
  expectDetected([
    ...stateFaults,
    ...constantFaults,
    ...inPlaceFaults,
    ...lifecycleFaults,
    ...aliasingFaults,
    ...viewFaults,
    ...orderFaults,
    ...repeatedRunFaults,
    ...programFaults,
    ...manyRunsFaults,
    ...manyFaults,
    ...reportFaults,
  ]);
});
