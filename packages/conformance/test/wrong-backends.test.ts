// The suite is only as good as what it catches: every deliberately wrong backend fails the cases that name its fault,
// and no other cases than those that the fault brings down with them.
import { describe, expect, it } from "vitest";
import { allCases } from "../src/all-cases.js";
import { runConformance } from "../src/run-conformance.js";
import { committing } from "./wrong-backends/committing.js";
import { convolutionFaults } from "./wrong-backends/convolution-faults.js";
import { oracleWithKernels } from "./wrong-backends/kernels.js";
import { lifecycleFaults } from "./wrong-backends/lifecycle-faults.js";
import { numericFaults } from "./wrong-backends/numeric-faults.js";
import { poolFaults } from "./wrong-backends/pool-faults.js";
import { stateFaults } from "./wrong-backends/state-faults.js";
import type { WrongBackend } from "./wrong-backends/wrong-backend.js";

const casesOf = (axes: readonly string[], among = /./) =>
  allCases.filter(
    ({ id }) =>
      axes.includes(id.slice(0, id.indexOf("/"))) &&
      among.test(id) &&
      !/\/(random-bits|every-bit-pattern)$/.test(id),
  );

const faults: readonly WrongBackend[] = [
  ...numericFaults,
  ...convolutionFaults,
  ...poolFaults,
  ...stateFaults,
  ...lifecycleFaults,
];

describe("a wrong backend", () => {
  it.each(faults.map((wrong) => [wrong.fault, wrong] as const))(
    "%s",
    async (_, { factory, axes, among, named, consequences = [], message }) => {
      const cases = casesOf(axes, among);
      const ids = new Set(cases.map(({ id }) => id));
      expect(named.filter((id) => !ids.has(id))).toEqual([]);
      const { outcomes } = await runConformance({ factory, cases });
      const failed = outcomes.filter(({ status }) => status === "failed");
      const failedIds = failed.map(({ id }) => id);
      expect(named.filter((id) => !failedIds.includes(id))).toEqual([]);
      const astray = failed.filter(
        ({ id }) => !named.includes(id) && !consequences.some((pattern) => pattern.test(id)),
      );
      expect(astray.map(({ id, detail }) => `${id}: ${detail}`)).toEqual([]);
      if (message !== undefined) {
        expect(
          failed.filter(({ detail }) => !message.test(detail)).map(({ id, detail }) => `${id}: ${detail}`),
        ).toEqual([]);
      }
    },
    180_000,
  );
});

describe("the machinery of the wrong backends", () => {
  it.each([
    ["kernels", () => oracleWithKernels({}), ["op", "cast", "state", "loss-scale", "master-weights"]],
    ["commits", () => committing({}), ["state", "lifecycle", "skip", "loss-scale", "accumulate"]],
  ] as const)("is right as it stands: %s", async (_, factory, axes) => {
    const { outcomes } = await runConformance({ factory, cases: casesOf(axes) });
    expect(
      outcomes.filter(({ status }) => status !== "passed").map(({ id, detail }) => `${id}: ${detail}`),
    ).toEqual([]);
  });
});
