import { inSuite, suiteCases } from "@mp/conformance";
import { trainingCases } from "@mp/conformance/training";
import { describeConformance } from "@mp/conformance/vitest";
import { tfjs } from "../../src/index.js";
import { withTensorFlow } from "./installed-tensorflow.js";

/** Parts of the suite that take about equal time, a test file each, so that two workers end together. */
type Part = "operators" | "families" | "others";

function partOf(id: string): Part {
  if (/^(op|rewrite)\//.test(id)) return "operators";
  return /^(axis|equal-sides|integer|loop|option|rare|reduce|size|tail)\//.test(id) ? "families" : "others";
}

/** Defines the tests of one part; each case is in exactly one. */
export const describePart = (part: Part): Promise<void> => describeCases((id) => partOf(id) === part);

/** Defines the tests of the suite's cases with these ids. */
export const describeCases = (isChosen: (id: string) => boolean): Promise<void> =>
  withTensorFlow((tf) =>
    describeConformance({
      factory: () => tfjs({ tf }),
      cases: [...suiteCases, ...inSuite(trainingCases)].filter(({ id }) => isChosen(id)),
      // Several steps take seconds each, and a busy machine is ten times slower.
      timeoutMs: 290_000,
    }),
  );
