import { failuresOf, type Report, runConformance } from "@mp/conformance";
import { ortWeb } from "../../../src/index.js";
import { cases } from "../../groups.js";

export interface PartReport {
  readonly counts: Report["counts"];
  readonly failures: readonly string[];
}

declare global {
  var runCases: (ids: readonly string[]) => Promise<PartReport>;
}

globalThis.runCases = async (ids) => {
  const report = await runConformance({
    factory: () => ortWeb(),
    // A machine without a GPU runs shaders on its processor.
    timeoutMs: 290_000,
    cases: cases.filter(({ id }) => ids.includes(id)),
  });
  return { counts: report.counts, failures: failuresOf(report) };
};
