// The oracle passes every case, in a process where a backend that overwrites everything it is given has run before.
// Such a backend overwrites only the data of its own cases, since cases make their data again for each run.
import { reference } from "@mp/graph/reference";
import { beforeAll, expect } from "vitest";
import { describeConformance } from "../src/entries/vitest.js";
import { runConformance } from "../src/index.js";
import { trainingCases } from "../src/training/cases/training-cases.js";
import { scribbling } from "./wrong-backends/scribbling.js";

/** The whole suite in one hook, which takes half a minute on an idle machine. */
const LIMIT_MS = 1_200_000;

beforeAll(async () => {
  const { counts } = await runConformance({ factory: scribbling, training: trainingCases });
  expect(counts.failed).toBeGreaterThan(100);
}, LIMIT_MS);

describeConformance({ factory: () => reference(), training: trainingCases });
