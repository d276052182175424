import { add } from "@mp/graph/ops";
import { describe, expect, it } from "vitest";
import { formatCastReport } from "../../src/cast/explain.js";
import { mixedFloat16Policy } from "../../src/cast/policy.js";
import { float32, mixedFloat16 } from "../../src/precision/presets.js";
import type { TrainingWarning } from "../../src/train/definition/warning.js";
import { batch, loss, smallRun, stateOf } from "../small-run.js";

describe("explain", () => {
  it("says what each operator of the loss computes in and why, and changes nothing", async () => {
    const training = await smallRun({ precision: mixedFloat16() });
    const before = await stateOf(training);
    const report = training.explain(batch(0));
    expect(report.policy).toBe(String(mixedFloat16Policy));
    const products = report.nodes.filter(({ op }) => op === "MatMul");
    expect(products.map(({ scope, dtype, rule }) => [scope, dtype, rule])).toEqual([
      ["hidden", "f16", "allow list"],
      ["", "f16", "allow list"],
    ]);
    expect(products[0]?.line).toMatch(/small-run\.ts:\d+/);
    const means = report.nodes.filter(({ op }) => op === "ReduceMean");
    expect(means.length).toBeGreaterThan(1);
    expect(means.every(({ dtype }) => dtype === "f32")).toBe(true);
    expect(formatCastReport(report)).toContain("f16");
    expect(await stateOf(training)).toEqual(before);
  });

  it("is the same for a window as for a whole step, and from run to run", async () => {
    const [whole, window] = [
      await smallRun({ precision: mixedFloat16() }),
      await smallRun({ precision: mixedFloat16(), accumulate: 2 }),
    ];
    expect(window.explain(batch(0)).hash).toBe(whole.explain(batch(0)).hash);
    expect(whole.explain(batch(0)).hash).toBe(whole.explain(batch(1)).hash);
    expect((await smallRun({ precision: float32() })).explain(batch(0)).casts).toEqual([]);
  });

  it("speaks of the policy's overrides", async () => {
    const policy = mixedFloat16Policy.with({ scopes: { hidden: "f32" } });
    const training = await smallRun({ precision: { ...mixedFloat16(), policy } });
    const [first] = training.explain(batch(0)).nodes.filter(({ op }) => op === "MatMul");
    expect(first).toMatchObject({ scope: "hidden", dtype: "f32", rule: "override" });
  });
});

describe("what looks wrong in the loss under its policy", () => {
  it("is a warning at the first step, once, with line and remedy", async () => {
    const received: TrainingWarning[] = [];
    const training = await smallRun({
      precision: { ...mixedFloat16(), policy: mixedFloat16Policy.with({ ops: { Add: "low" } }) },
      loss: (parameters, { x, y }, context) => loss(parameters, { x: add(x, 1e-9), y }, context),
      onWarning: (warning) => void received.push(warning),
    });
    await training.step(batch(0));
    await training.step(batch(0, 2));
    const numerics = received.filter(({ type }) => type === "numerics");
    expect(numerics.map(({ message }) => message)).toEqual([
      expect.stringMatching(
        /1e-9 is 0 in f16 \(at .*explain\.test\.ts:\d+.*; the smallest normal number of f16/,
      ),
    ]);
    expect(training.explain(batch(0)).lints.map(({ rule }) => rule)).toContain("constant-vanishes");
  });

  it("is an error where it could not train: a mask beyond the half", async () => {
    const training = await smallRun({
      precision: { ...mixedFloat16(), policy: mixedFloat16Policy.with({ ops: { Add: "low" } }) },
      loss: (parameters, { x, y }, context) => loss(parameters, { x: add(x, -1e9), y }, context),
    });
    await expect(training.step(batch(0))).rejects.toMatchObject({ code: "MP_OUT_OF_RANGE" });
  });
});
