import type { Outcome } from "@mp/conformance";
import { trainingCases } from "@mp/conformance/training";
import { describeConformance } from "@mp/conformance/vitest";
import { expect, it } from "vitest";
import { tinyBackend } from "../src/tiny-backend.js";

const outcomes: Outcome[] = [];

describeConformance({
  factory: tinyBackend,
  training: trainingCases,
  onOutcome: (outcome) => outcomes.push(outcome),
  // Plain loops take seconds where a library takes milliseconds.
  timeoutMs: 240_000,
});

it("some of the suite is passed, and what the manifest does not declare is refused", () => {
  const count = (status: Outcome["status"]): number =>
    outcomes.filter((outcome) => outcome.status === status).length;
  expect([count("failed"), count("known-failure")]).toEqual([0, 0]);
  expect(count("passed")).toBeGreaterThan(50);
  expect(count("refused")).toBeGreaterThan(125);
});
