import { scope, tensor } from "@mp/graph";
import { cast, div, log, matMul, mul, randomBernoulli, reduceMean, reduceSum } from "@mp/graph/ops";
import { describe, expect, it } from "vitest";
import { batch, type SmallOptions, smallRun, stateOf } from "../../../test/small-run.js";
import { dynamicLossScale, staticLossScale } from "../../precision/loss-scaler.js";
import { float32, mixedFloat16 } from "../../precision/presets.js";

const tooHigh = { ...mixedFloat16(), lossScaler: dynamicLossScale({ initialScale: 2 ** 30 }) };
const withLoss = (loss: (x: Parameters<SmallOptions["loss"]>) => ReturnType<SmallOptions["loss"]>) =>
  ((...given: Parameters<SmallOptions["loss"]>) => loss(given)) as SmallOptions["loss"];

/** Takes steps until one is skipped, and diagnoses that step. */
async function firstSkip(options: Partial<SmallOptions>, batches = [batch(0)]) {
  const training = await smallRun({ ...options, accumulate: batches.length });
  for (let step = 0; step < 40; step++) {
    const { applied, scale } = await training.step(...batches);
    if (applied) continue;
    const before = await stateOf(training);
    const found = await training.diagnose(batches, { scale });
    expect(await stateOf(training)).toEqual(before);
    await training.dispose();
    return found;
  }
  throw new Error("no step was skipped");
}

describe("the diagnosis of a step", () => {
  it("finds a scale that was too high, at the scale that the step had and not the one after it", async () => {
    const found = await firstSkip({ precision: tooHigh });
    expect(found).toMatchObject({ scale: 2 ** 30, phase: "backward", cause: "scale too high" });
    expect(found?.because).toMatch(/^at a lower scale the same step is finite/);
    expect(found?.type).toMatch(/^f16/);
  });

  it("takes what fit hands on with the step, also of a window", async () => {
    const causes: unknown[] = [];
    const training = await smallRun({ precision: tooHigh, accumulate: 2 });
    await training.fit([batch(0), batch(1), batch(2), batch(3)], {
      onStep: async ({ applied, scale, batches }) => {
        if (!applied) causes.push([batches.length, (await training.diagnose(batches, { scale }))?.cause]);
      },
    });
    expect(causes).toEqual([
      [2, "scale too high"],
      [2, "scale too high"],
    ]);
    await training.dispose();
  });

  it("finds a model that makes an infinity, whatever the scale", async () => {
    const loss = withLoss(([{ hidden, out }, { x }, { modelState }]) => {
      const sum = scope("head", () => log(mul(reduceSum(matMul(matMul(x, hidden.w), out)), 0)));
      return { loss: sum, metrics: { error: sum }, modelState };
    });
    for (const precision of [mixedFloat16(), float32(), tooHigh]) {
      expect(await firstSkip({ precision, loss })).toMatchObject({
        op: "Log",
        scope: "head",
        phase: "forward",
        cause: "model",
      });
    }
  });

  it("finds a forward pass that the half is too narrow for", async () => {
    const loss = withLoss(([{ hidden, out }, { x }, { modelState }]) => {
      const large = mul(matMul(mul(x, 300), mul(hidden.w, 300)), 1e-3);
      const mean = reduceMean(matMul(large, out));
      return { loss: mean, metrics: { error: mean }, modelState };
    });
    const found = await firstSkip({ precision: { ...mixedFloat16(), lossScaler: staticLossScale(1) }, loss });
    expect(found).toMatchObject({ op: "MatMul", phase: "forward", cause: "half too narrow" });
  });

  it("finds data that is not finite, and where it is", async () => {
    const poisoned = { ...batch(0), y: tensor(Float32Array.of(1, 2, Number.NaN, Number.NaN), [4, 1]) };
    expect(await firstSkip({ precision: mixedFloat16() }, [poisoned])).toMatchObject({
      value: "batch/y",
      phase: "input",
      cause: "data",
      remedy: "the data itself holds NaN at [2, 0]; check this input",
    });
  });

  it("finds the microbatch, and draws its masks", async () => {
    const loss = withLoss(([{ out }, , { key, modelState }]) => {
      const kept = cast(randomBernoulli(key, 0.5, []), "f32");
      const mean = div(reduceSum(mul(out, out)), kept);
      return { loss: mean, metrics: { error: kept }, modelState };
    });
    for (let seed = 0; seed < 6; seed++) {
      expect(await firstSkip({ seed, loss }, [batch(0), batch(1)])).toMatchObject({
        op: "Div",
        cause: "model",
      });
    }
  });

  it("is one of the next step where no scale is given, with its scale, randomness and microbatches", async () => {
    const training = await smallRun({ precision: tooHigh, accumulate: 2 });
    const next = [batch(0), batch(1)];
    const found = await training.diagnose(next);
    expect(found).toMatchObject({ scale: 2 ** 30, phase: "backward", cause: "scale too high" });
    const { scale } = await training.step(...next);
    expect(await training.diagnose(next, { scale })).toEqual(found);
    await training.dispose();
  });

  it("finds nothing where nothing is wrong, and refuses what is no scale", async () => {
    const training = await smallRun({ precision: mixedFloat16() });
    await training.step(batch(0));
    expect(await training.diagnose([batch(0)], { scale: 1 })).toBeUndefined();
    await expect(training.diagnose([batch(0)], { scale: "1" as never })).rejects.toThrow(
      'diagnose: scale must be that of a step\'s result, got "1"',
    );
    for (const batches of [batch(0), [], null]) {
      await expect(training.diagnose(batches as never, { scale: 1 })).rejects.toThrow(
        expect.objectContaining({
          code: "MP_INVALID_ARGUMENT",
          message: expect.stringContaining("as a list"),
        }),
      );
    }
  });
});
