/** Tests that the backends from which wrong ones are made pass, and so do wrong ones without their fault. */
import { ADDING_OPS, type AddingOp } from "@mp/graph";
import { describe, expect, it } from "vitest";
import { halfSumsBackend } from "../../../graph/test/half-sums.js";
import { runConformance } from "../../src/suite/run-conformance.js";
import { inHalves } from "./accumulation-faults.js";
import { committing } from "./committing.js";
import { casesOf, failures, shareOf } from "./expect-detected.js";
import { changedInPlace } from "./in-place-faults.js";
import { oracleWithKernels } from "./kernels.js";
import { unreachableFaults } from "./size-faults.js";
import { slow } from "./slow.js";

describe("a backend that declares sums in halves", () => {
  /** Ops whose cases in the group `op` compare every backend with f32 sums. */
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
  ] as const)("passes the %s", async (_, axes, ops) => {
    const factory = async () => halfSumsBackend(inHalves(ops));
    // Convolutions take minutes with rounded stores; those of the group `gradient` represent them.
    const cases = casesOf(axes, /^(?!op\/Conv).*-(f16|bf16)\/|^autocast/);
    expect(await failures({ factory, cases: shareOf(cases) })).toEqual([]);
  });
});

it("a backend whose slots are changed in place passes where it is right", async () => {
  expect(await failures({ factory: () => changedInPlace(), cases: casesOf(["in-place", "state"]) })).toEqual(
    [],
  );
});

it("a backend that may flush subnormals passes, fed with numbers that it need not flush", async () => {
  const subnormals = { f32: "flush", f16: "flush", bf16: "flush" } as const;
  const factory = () => oracleWithKernels({}, { subnormals });
  const cases = casesOf(["program", "cast", "rewrite"], /^program|^(cast|rewrite)\/.*-f32\/(?!of-)/);
  expect(await failures({ factory, cases })).toEqual([]);
});

describe("a backend that is wrong beyond all sizes that are tried passes", () => {
  it.each(unreachableFaults.map((wrong) => [wrong.fault, wrong] as const))(
    "%s",
    async (_, { factory, axes, among }) => {
      expect(await failures({ factory, cases: shareOf(casesOf(axes, among)) })).toEqual([]);
    },
  );
});

it("a backend without loops refuses every loop with its manifest's reason", async () => {
  const { counts, outcomes } = await runConformance({
    factory: () => oracleWithKernels({}, {}, ["Scan"]),
    cases: casesOf(["loop", "op"], /^loop\/|\/Scan/),
  });
  expect(outcomes.filter(({ status }) => status !== "refused")).toEqual([]);
  expect(counts.refused).toBeGreaterThan(50);
});

describe("the machinery of the wrong backends is right as it stands", () => {
  it.each([
    ["kernels", () => oracleWithKernels({}), ["op", "cast", "state", "loss-scale", "master-weights"]],
    ["waiting", () => slow(), ["order", "state", "lifecycle", "repeat", "stats", "factory", "transfer"]],
    ["commits", () => committing({}), ["state", "lifecycle", "skip", "loss-scale", "accumulate"]],
  ] as const)("%s", async (_, factory, axes) => {
    expect(await failures({ factory, cases: shareOf(casesOf(axes)) })).toEqual([]);
  });
});
