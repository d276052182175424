// The oracle passes every case, in a process where a backend that overwrites everything it is given has run before.
// Such a backend overwrites only the data of its own cases, since cases make their data again for each run.
import { reference } from "@mp/graph/reference";
import { beforeAll, expect } from "vitest";
import { describeConformance } from "../src/entries/vitest.js";
import { allCases, runConformance } from "../src/index.js";
import { suitePart } from "../src/suite/suite-part.js";
import { scribbling } from "./wrong-backends/scribbling.js";

beforeAll(async () => {
  const { counts } = await runConformance({ factory: scribbling, cases: suitePart(allCases, 4) });
  expect(counts.failed).toBeGreaterThan(100);
}, 600_000);

describeConformance({ factory: () => reference() });
