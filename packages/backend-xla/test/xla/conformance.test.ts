import { inSuite, suiteCases } from "@mp/conformance";
import { trainingCases } from "@mp/conformance/training";
import { describeConformance } from "@mp/conformance/vitest";
import { seed } from "../../../core/test/soak/size.js";
import { open } from "./open.js";

/**
 * The groups that take most of the time. All cases take 550 s of processor time and a commit has 300, so that each day
 * runs another third of these: `npm run soak -- suite` runs all.
 */
const LARGE = /^(op|rewrite|axis|tail|equal-sides|size|gradient|reduce|rare|integer)\//;
const SHARE = 3;

describeConformance({
  factory: () => open(),
  // Programs of many scatters take 20 s of processor time to compile.
  timeoutMs: 240_000,
  cases: [...suiteCases, ...inSuite(trainingCases)].filter(
    ({ id }, index) => !LARGE.test(id) || index % SHARE === seed % SHARE,
  ),
});
