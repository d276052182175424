import { allCases, failuresOf, type Report, runConformance } from "@mp/conformance";
import { ortWeb } from "../../../src/index.js";
import { knownFailures } from "../../../src/known-failures.js";

export interface GroupReport {
  readonly counts: Report["counts"];
  readonly failures: readonly string[];
}

declare global {
  var runGroup: (group: string) => Promise<GroupReport>;
}

globalThis.runGroup = async (group) => {
  const isOfGroup = (id: string): boolean => id.startsWith(`${group}/`);
  const report = await runConformance({
    factory: () => ortWeb(),
    // A machine without a GPU runs shaders on its processor.
    timeoutMs: 290_000,
    cases: allCases.filter(({ id }) => isOfGroup(id)),
    knownFailures: Object.fromEntries(Object.entries(knownFailures).filter(([id]) => isOfGroup(id))),
  });
  return { counts: report.counts, failures: failuresOf(report) };
};
