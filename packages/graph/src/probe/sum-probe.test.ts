import { describe, expect, it } from "vitest";
import { halfSumsBackend } from "../../test/half-sums.js";
import type { Accumulators } from "../contract/manifest.js";
import type { HalfDType } from "../dtype.js";
import { ADDING_OPS } from "../graph/adding-ops.js";
import type { AddingOp } from "../graph/families.js";
import { evaluate } from "../reference/index.js";
import { sumProbe } from "./sum-probe.js";

const inF32: Accumulators = { f32: "f32", f16: "f32", bf16: "f32" };

describe.each(["f16", "bf16"] as HalfDType[])("sums of %s", (half) => {
  it("are right where the engine adds up in f32", () => {
    const { graph, inputs, narrow } = sumProbe(half);
    expect(narrow(evaluate(graph, inputs))).toEqual([]);
  });

  it.each(ADDING_OPS)("are found out where %s adds up in the half", async (op: AddingOp) => {
    const backend = halfSumsBackend({ default: inF32, ops: { [op]: { [half]: half } } });
    const { graph, inputs, narrow } = sumProbe(half, [op]);
    const executable = await backend.compile(graph);
    expect(narrow(await executable.run(inputs))).toEqual([op]);
    await backend.dispose();
  });

  it("are wrong where nothing comes back", () => {
    expect(sumProbe(half).narrow({})).toEqual(ADDING_OPS);
    expect(sumProbe(half, ["MatMul", "Conv"]).narrow({})).toEqual(["MatMul", "Conv"]);
  });
});
