import { inSuite, suiteCases } from "@mp/conformance";
import { trainingCases } from "@mp/conformance/training";
import { describeConformance } from "@mp/conformance/vitest";
import { openvino } from "../../src/index.js";

/** Files that divide the suite, so that two workers are busy until it ends. */
const PARTS = 4;

/** Tests every fourth case. Neighbors take equally long, so the parts do too. */
export function describePart(part: number): void {
  const cases = [...suiteCases, ...inSuite(trainingCases)].filter((_, index) => index % PARTS === part);
  describeConformance({ factory: () => openvino(), cases, timeoutMs: 290_000 });
}
