import { inSuite, suiteCases } from "@mp/conformance";
import { trainingCases } from "@mp/conformance/training";
import { describeConformance } from "@mp/conformance/vitest";
import { open } from "./open.js";

/**
 * Groups of thousands of small programs. The CPU plugin takes 50 ms of processor time to compile each, however small, so
 * that a commit runs every 24th of these cases: `npm run soak -- suite` runs all.
 */
const MANY =
  /^(op|rewrite|gradient|custom-gradient|rare|integer|summation|tail|axis|cast|size|reduce|equal-sides|autocast)\//;
const SHARE = 24;

const all = [...suiteCases, ...inSuite(trainingCases)];

describeConformance({
  factory: () => open(),
  cases: [
    ...all.filter(({ id }) => !MANY.test(id)),
    ...all.filter(({ id }) => MANY.test(id)).filter((_, index) => index % SHARE === 0),
  ],
});
