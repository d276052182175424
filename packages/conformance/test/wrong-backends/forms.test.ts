import { describe } from "vitest";
import { axisFaults } from "./axis-faults.js";
import { customGradientFaults } from "./custom-gradient-faults.js";
import { equalSideFaults } from "./equal-side-faults.js";
import { expectDetected } from "./expect-detected.js";
import { farValueFaults } from "./far-value-faults.js";
import { halfFormFaults } from "./half-form-faults.js";
import { identityFaults } from "./identity-faults.js";
import { loopFaults } from "./loop-faults.js";
import { optionFaults } from "./option-faults.js";
import { publicBugFaults } from "./public-bug-faults.js";
import { rareFormFaults } from "./rare-form-faults.js";
import { recipeFaults } from "./recipe-faults.js";
import { rewriteFaults } from "./rewrite-faults.js";
import { tailFaults } from "./tail-faults.js";

describe("a backend that is wrong in some forms of an operator or a graph", () => {
  expectDetected([
    ...rareFormFaults,
    ...axisFaults,
    ...optionFaults,
    ...recipeFaults,
    ...rewriteFaults,
    ...identityFaults,
    ...farValueFaults,
    ...loopFaults,
    ...customGradientFaults,
    ...tailFaults,
    ...equalSideFaults,
    ...publicBugFaults,
    ...halfFormFaults,
  ]);
});
