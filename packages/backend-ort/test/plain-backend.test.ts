/** A backend that uses nothing but the public face of `@mp/onnx-lowering` and an engine's own API. */
import { allCases, failuresOf, runConformance } from "@mp/conformance";
import { trainingCases } from "@mp/conformance/training";
import { expect, it } from "vitest";
import { plainBackend } from "./plain-backend.js";

const GROUPS = ["manifest", "factory", "transfer", "lifecycle", "state", "resume"];

it("passes the groups of the suite on the backend itself and on training", async () => {
  const cases = [...allCases, ...trainingCases].filter(({ id }) =>
    GROUPS.includes(id.slice(0, id.indexOf("/"))),
  );
  const report = await runConformance({ factory: plainBackend, cases });
  expect(failuresOf(report)).toEqual([]);
  expect(report.outcomes.filter(({ status }) => status === "passed").length).toBeGreaterThan(50);
});
