// The oracle passes every case, in a process where a backend that overwrites everything it is given has run before.
// Such a backend overwrites only the data of its own cases, since cases make their data again for each run. It runs
// other cases each day; `npm run soak -- wrong-backends` runs all of them.
import { reference } from "@mp/graph/reference";
import { beforeAll, expect } from "vitest";
import { describeConformance } from "../../src/entries/vitest.js";
import { runConformance } from "../../src/suite/run-conformance.js";
import { trainingCases } from "../../src/training/cases/training-cases.js";
import { shareOf, suite } from "./expect-detected.js";
import { scribbling } from "./scribbling.js";

/** All cases take half a minute on an idle machine. */
const LIMIT_MS = 1_200_000;

beforeAll(async () => {
  const { counts } = await runConformance({ factory: scribbling, cases: shareOf(suite) });
  expect(counts.failed).toBeGreaterThan(50);
}, LIMIT_MS);

describeConformance({ factory: () => reference(), training: trainingCases, timeoutMs: 290_000 });
