// The suite is only as good as what it detects: every deliberately wrong backend fails the cases that name its fault,
// and no others except known consequences of the fault.
import { ADDING_OPS, type AddingOp } from "@mp/graph";
import { describe, expect, it } from "vitest";
import { halfSumsBackend } from "../../graph/test/half-sums.js";
import { drawn } from "../src/cases/kinds/drawn.js";
import { randomSource } from "../src/random-source.js";
import { allCases } from "../src/suite/all-cases.js";
import { runConformance } from "../src/suite/run-conformance.js";
import { askedPart, suitePart } from "../src/suite/suite-part.js";
import { accumulationFaults, inHalves } from "./wrong-backends/accumulation-faults.js";
import { aliasingFaults } from "./wrong-backends/aliasing-faults.js";
import { attentionFaults } from "./wrong-backends/attention-faults.js";
import { axisFaults } from "./wrong-backends/axis-faults.js";
import { committing } from "./wrong-backends/committing.js";
import { constantFaults } from "./wrong-backends/constant-faults.js";
import { convolutionFaults } from "./wrong-backends/convolution-faults.js";
import { customGradientFaults } from "./wrong-backends/custom-gradient-faults.js";
import { einsumFaults } from "./wrong-backends/einsum-faults.js";
import { emptyAndZeroFaults } from "./wrong-backends/empty-and-zero-faults.js";
import { equalSideFaults } from "./wrong-backends/equal-side-faults.js";
import { farValueFaults } from "./wrong-backends/far-value-faults.js";
import { identityFaults } from "./wrong-backends/identity-faults.js";
import { changedInPlace, inPlaceFaults } from "./wrong-backends/in-place-faults.js";
import { integerFaults } from "./wrong-backends/integer-faults.js";
import { oracleWithKernels } from "./wrong-backends/kernels.js";
import { lifecycleFaults } from "./wrong-backends/lifecycle-faults.js";
import { loopFaults } from "./wrong-backends/loop-faults.js";
import { manyFaults } from "./wrong-backends/many-faults.js";
import { manyRunsFaults } from "./wrong-backends/many-runs-faults.js";
import { numericFaults } from "./wrong-backends/numeric-faults.js";
import { optionFaults } from "./wrong-backends/option-faults.js";
import { orderFaults } from "./wrong-backends/order-faults.js";
import { poolFaults } from "./wrong-backends/pool-faults.js";
import { programFaults } from "./wrong-backends/program-faults.js";
import { rareFormFaults } from "./wrong-backends/rare-form-faults.js";
import { repeatedRunFaults } from "./wrong-backends/repeated-run-faults.js";
import { rewriteFaults } from "./wrong-backends/rewrite-faults.js";
import { sizeFaults, unreachableFaults } from "./wrong-backends/size-faults.js";
import { slow } from "./wrong-backends/slow.js";
import { stateFaults } from "./wrong-backends/state-faults.js";
import { tailFaults } from "./wrong-backends/tail-faults.js";
import { viewFaults } from "./wrong-backends/view-faults.js";
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
  ...accumulationFaults,
  ...convolutionFaults,
  ...einsumFaults,
  ...attentionFaults,
  ...emptyAndZeroFaults,
  ...poolFaults,
  ...stateFaults,
  ...constantFaults,
  ...inPlaceFaults,
  ...lifecycleFaults,
  ...sizeFaults,
  ...integerFaults,
  ...rareFormFaults,
  ...axisFaults,
  ...optionFaults,
  ...aliasingFaults,
  ...viewFaults,
  ...orderFaults,
  ...repeatedRunFaults,
  ...rewriteFaults,
  ...identityFaults,
  ...farValueFaults,
  ...loopFaults,
  ...customGradientFaults,
  ...tailFaults,
  ...equalSideFaults,
  ...programFaults,
  ...manyRunsFaults,
  ...manyFaults,
];

/**
 * Beside the cases that name a fault, a part of that many others of its groups is run, the next part on the next day; with
 * `MP_SUITE=whole` all of that many. All others take 20 minutes.
 */
const DRAWN = 40;
const PARTS = 4;
const part = askedPart(process.env);

/** @param others in a fixed random order */
const partOfOthers = <T>(others: readonly T[]): readonly T[] =>
  part === undefined ? others : others.filter((_, index) => index % PARTS === part % PARTS);

describe("a wrong backend", () => {
  it.each(faults.map((wrong) => [wrong.fault, wrong] as const))(
    "%s",
    async (fault, { factory, axes, among, named, consequences = [], message }) => {
      const all = casesOf(axes, among);
      const ids = new Set(all.map(({ id }) => id));
      expect(named.filter((id) => !ids.has(id))).toEqual([]);
      const others = all.filter(({ id }) => !named.includes(id));
      const cases = [
        ...all.filter(({ id }) => named.includes(id)),
        ...partOfOthers(drawn(randomSource(1, fault), others, DRAWN)),
      ];
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

describe("a backend that declares sums in halves", () => {
  /** Ops whose cases in the group `op` test every backend against f32. */
  const heldToF32: readonly AddingOp[] = [
    "AveragePool",
    "ScatterElements",
    "ScatterND",
    "LayerNormalization",
    "BatchNormalization",
    "BatchNormalizationGradient",
  ];
  it.each([
    ["sums", ["summation"], ADDING_OPS],
    [
      "other cases",
      ["op", "autocast", "gradient", "reduce"],
      ADDING_OPS.filter((op) => !heldToF32.includes(op)),
    ],
  ] as const)(
    "passes the %s",
    async (_, axes, ops) => {
      const { outcomes } = await runConformance({
        factory: async () => halfSumsBackend(inHalves(ops)),
        // Convolutions take minutes with rounded stores; those of the group `gradient` represent them.
        cases: casesOf(axes, /^(?!op\/Conv).*-(f16|bf16)\/|^autocast/),
      });
      const failed = outcomes.filter(({ status }) => status === "failed");
      expect(failed.map(({ id, detail }) => `${id}: ${detail}`)).toEqual([]);
    },
    180_000,
  );
});

describe("a backend whose slots are changed in place", () => {
  it("passes where it is right", async () => {
    const { outcomes } = await runConformance({
      factory: () => changedInPlace(),
      cases: casesOf(["in-place", "state"]),
    });
    const failed = outcomes.filter(({ status }) => status !== "passed");
    expect(failed.map(({ id, detail }) => `${id}: ${detail}`)).toEqual([]);
  });
});

describe("a backend that is wrong beyond all sizes that are tried", () => {
  it.each(unreachableFaults.map((wrong) => [wrong.fault, wrong] as const))(
    "%s",
    async (_, { factory, axes, among }) => {
      const { outcomes } = await runConformance({ factory, cases: casesOf(axes, among) });
      const failed = outcomes.filter(({ status }) => status !== "passed");
      expect(failed.map(({ id, detail }) => `${id}: ${detail}`)).toEqual([]);
    },
    180_000,
  );
});

describe("a backend without loops", () => {
  it("refuses every loop with its manifest's reason", async () => {
    const { counts, outcomes } = await runConformance({
      factory: () => oracleWithKernels({}, {}, ["Scan"]),
      cases: casesOf(["loop", "op"], /^loop\/|\/Scan/),
    });
    expect(outcomes.filter(({ status }) => status !== "refused")).toEqual([]);
    expect(counts.refused).toBeGreaterThan(100);
  });
});

describe("the machinery of the wrong backends", () => {
  it.each([
    ["kernels", () => oracleWithKernels({}), ["op", "cast", "state", "loss-scale", "master-weights"]],
    ["waiting", () => slow(), ["order", "state", "lifecycle", "repeat", "stats", "factory", "transfer"]],
    ["commits", () => committing({}), ["state", "lifecycle", "skip", "loss-scale", "accumulate"]],
  ] as const)("is right as it stands: %s", async (_, factory, axes) => {
    const { outcomes } = await runConformance({ factory, cases: suitePart(casesOf(axes), PARTS) });
    expect(
      outcomes.filter(({ status }) => status !== "passed").map(({ id, detail }) => `${id}: ${detail}`),
    ).toEqual([]);
  });
});
