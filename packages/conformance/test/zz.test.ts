import { it } from "vitest";
import { optionSamples } from "../src/samples/options/option-samples.js";
import { optionCases } from "../src/cases/generated/options.js";
import { reference } from "@mp/core/reference";
import { runConformance } from "../src/run-conformance.js";
it("counts", async () => {
  const t1 = performance.now();
  const { outcomes } = await runConformance({ factory: () => reference(), cases: optionCases });
  console.log(optionCases.length, performance.now() - t1, outcomes.filter((o) => o.status !== "passed").slice(0, 20));
}, 600000);
