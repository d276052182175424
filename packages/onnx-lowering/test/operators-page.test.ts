import { expect, it } from "vitest";
import { knownFindings } from "../src/probe/findings.js";
import { operatorsPage } from "./operators-page.js";

it("docs/webgpu-operators.md says what lowering does for WebGPU", async () => {
  const findings = knownFindings({ device: "webgpu", version: "1.30.0" }, ["f16"]);
  if (findings === undefined) throw new Error("nothing is known of 1.30.0");
  await expect(operatorsPage(findings)).toMatchFileSnapshot("../../../docs/webgpu-operators.md");
});
