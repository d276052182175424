import { inSuite, suiteCases } from "@mp/conformance";
import { trainingCases } from "@mp/conformance/training";
import { describeConformance } from "@mp/conformance/vitest";
import { ort } from "../../src/index.js";
import { knownFailures } from "./known-failures.js";

/** Files that divide the suite, so that two workers are busy until it ends. */
const PARTS = 4;

/** Tests every fourth case. Neighbors take equally long, so the parts do too. */
export function describePart(part: number): void {
  const all = [...suiteCases, ...inSuite(trainingCases)];
  const cases = all.filter((_, index) => index % PARTS === part);
  const others = new Set(all.filter((_, index) => index % PARTS !== part).map(({ id }) => id));
  describeConformance({
    factory: () => ort({ device: "webgpu" }),
    // Every part keeps the entries that name no case, which fail.
    knownFailures: Object.fromEntries(Object.entries(knownFailures).filter(([id]) => !others.has(id))),
    cases,
    timeoutMs: 290_000,
  });
}
