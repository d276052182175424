import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  batch,
  type SmallOptions,
  type SmallTrainer,
  smallRun,
  trained,
} from "../../../../test/small-run.js";
import { mixedBfloat16Policy } from "../../../cast/policy.js";
import { adam, adamW } from "../../../optim/adam.js";
import { chain } from "../../../optim/chain.js";
import { clipByGlobalNorm } from "../../../optim/clip.js";
import { cosineDecay } from "../../../optim/schedules/cosine-decay.js";
import { warmup } from "../../../optim/schedules/warmup.js";
import { momentum, sgd } from "../../../optim/sgd.js";
import { dynamicLossScale } from "../../../precision/loss-scaler.js";
import { float32, mixedBfloat16, mixedFloat16 } from "../../../precision/presets.js";
import type { TrainingWarning } from "../../definition/warning.js";

let folder = "";
let path = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "mp-settings-"));
  path = join(folder, "run.safetensors");
});
afterAll(() => rm(folder, { recursive: true }));

describe("a file that fits but was made under other settings", () => {
  it.each<readonly [string, Partial<SmallOptions>, Partial<SmallOptions>, string]>([
    [
      "optimizer",
      { optimizer: adam({ learningRate: 0.1 }) },
      { optimizer: adamW({ learningRate: 0.1 }) },
      "optimizer adamW(learningRate 0.1, beta1 0.9, beta2 0.999, epsilon 1e-8, weightDecay 0.01) instead of adam(learningRate 0.1, beta1 0.9, beta2 0.999, epsilon 1e-8)",
    ],
    [
      "precision",
      { precision: float32() },
      { precision: mixedBfloat16() },
      "policy params=f32,compute=bf16,output=f32 instead of params=f32,compute=f32,output=f32",
    ],
    [
      "an override of the policy",
      { precision: mixedBfloat16() },
      { precision: { ...mixedBfloat16(), policy: mixedBfloat16Policy.with({ scopes: { hidden: "f32" } }) } },
      "policy params=f32,compute=bf16,output=f32,@hidden=f32 instead of params=f32,compute=bf16,output=f32",
    ],
    [
      "how the scale moves",
      { precision: { ...mixedFloat16(), lossScaler: dynamicLossScale() } },
      { precision: { ...mixedFloat16(), lossScaler: dynamicLossScale({ growthInterval: 100 }) } },
      `lossScaler ${dynamicLossScale({ growthInterval: 100 }).description} instead of ${dynamicLossScale().description}`,
    ],
    [
      "a hyperparameter",
      { optimizer: chain(clipByGlobalNorm(1), momentum({ learningRate: 0.05 })) },
      { optimizer: chain(clipByGlobalNorm(1), momentum({ learningRate: 0.05, momentum: 0.8 })) },
      "optimizer clipByGlobalNorm(1) · momentum(learningRate 0.05, momentum 0.8) instead of clipByGlobalNorm(1) · momentum(learningRate 0.05, momentum 0.9)",
    ],
    [
      "a schedule",
      { optimizer: sgd({ learningRate: 0.1 }) },
      { optimizer: sgd({ learningRate: warmup(2, cosineDecay(0.1, { steps: 10 })) }) },
      "optimizer sgd(learningRate warmup(steps 2, then cosineDecay(initial 0.1, steps 10, final 0))) instead of sgd(learningRate 0.1)",
    ],
    [
      "clipping and what an overflow does",
      { clipNorm: 1 },
      { onOverflow: "retry", maxRetries: 3 },
      "clipNorm none instead of 1; onOverflow retry(3) instead of skip",
    ],
  ])("is loaded with a warning: %s", async (_name, before, after, difference) => {
    await (await trained(before)).save(path);
    const warnings: TrainingWarning[] = [];
    const training = await smallRun({ ...after, onWarning: (warning) => void warnings.push(warning) });
    await training.load(path);
    expect(warnings).toEqual([
      { type: "checkpoint", message: `${path}: goes on under other settings, ${difference}` },
    ]);
    expect((await training.counters()).iteration).toBe(2);
  });

  it("goes on with masks that were not drawn yet where windows become shorter", async () => {
    const windowed = (accumulate: number): Promise<SmallTrainer> => {
      return smallRun({ accumulate, optimizer: sgd({ learningRate: 0 }) });
    };
    const one = await windowed(1);
    const losses: number[] = [];
    for (let step = 0; step < 6; step++) losses.push((await one.step(batch(0))).loss);
    expect(new Set(losses).size).toBe(6);
    const before = await windowed(4);
    await before.step(batch(0), batch(0), batch(0), batch(0));
    await before.save(path);
    const after = await windowed(2);
    await after.load(path);
    expect(after.warnings.map(({ message }) => message)).toEqual([
      `${path}: goes on under other settings, accumulate 2 instead of 4`,
    ]);
    const { loss } = await after.step(batch(0), batch(0));
    expect(loss).toBeCloseTo(((losses[4] ?? 0) + (losses[5] ?? 0)) / 2, 6);
  });

  it("without one where only the first scale differs, whose state is the file's", async () => {
    const scaled = (initialScale: number): Partial<SmallOptions> => ({
      precision: { ...mixedFloat16(), lossScaler: dynamicLossScale({ initialScale }) },
    });
    await (await smallRun(scaled(8))).save(path);
    const warnings: TrainingWarning[] = [];
    const training = await smallRun({ ...scaled(16), onWarning: (warning) => void warnings.push(warning) });
    await training.load(path);
    expect(warnings).toEqual([]);
    expect((await training.counters()).scale).toBe(8);
  });
});
