import { describe } from "vitest";
import { accumulationFaults } from "./accumulation-faults.js";
import { attentionFaults } from "./attention-faults.js";
import { convolutionFaults } from "./convolution-faults.js";
import { einsumFaults } from "./einsum-faults.js";
import { emptyAndZeroFaults } from "./empty-and-zero-faults.js";
import { expectDetected } from "./expect-detected.js";
import { integerFaults } from "./integer-faults.js";
import { narrowFaults } from "./narrow-faults.js";
import { numericFaults } from "./numeric-faults.js";
import { poolFaults } from "./pool-faults.js";
import { sizeFaults } from "./size-faults.js";

describe("a backend whose kernels are wrong", () => {
  expectDetected([
    ...numericFaults,
    ...narrowFaults,
    ...accumulationFaults,
    ...convolutionFaults,
    ...einsumFaults,
    ...attentionFaults,
    ...emptyAndZeroFaults,
    ...poolFaults,
    ...sizeFaults,
    ...integerFaults,
  ]);
});
