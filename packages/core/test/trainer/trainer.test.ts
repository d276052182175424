import { type Tensor, tensor } from "@mp/graph";
import { add, matMul, mul, randomBernoulli, reduceMean, relu, sub, where } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { adamW } from "../../src/optim/adam.js";
import { momentum, sgd } from "../../src/optim/sgd.js";
import { dynamicLossScale } from "../../src/precision/loss-scaler.js";
import { float32, mixedFloat16, type PrecisionChoice } from "../../src/precision/presets.js";
import type { LossContext } from "../../src/train/definition/loss.js";
import type { TrainingWarning } from "../../src/train/definition/warning.js";
import { trainer } from "../../src/train/trainer.js";

const wave = (size: number, step: number): Float32Array =>
  Float32Array.from({ length: size }, (_, i) => Math.sin(step * (i + 1)));
const parameters = () => ({
  hidden: { w: tensor(wave(8, 0.7), [2, 4]), b: tensor(new Float32Array(4)) },
  out: { w: tensor(wave(4, 1.3), [4, 1]), b: tensor(new Float32Array(1)) },
});
type Batch = { x: Tensor; y: Tensor };
type Layers = { hidden: { w: Tensor; b: Tensor }; out: { w: Tensor; b: Tensor } };
const forward = ({ hidden, out }: Layers, x: Tensor): Tensor =>
  add(matMul(relu(add(matMul(x, hidden.w), hidden.b)), out.w), out.b);
const loss = (layers: Layers, { x, y }: Batch): Tensor => {
  const error = sub(forward(layers, x), y);
  return reduceMean(mul(error, error));
};
const batch = (step: number) => {
  const x = wave(16, 0.3 + step);
  return {
    x: tensor(x, [8, 2]),
    y: tensor(
      Float32Array.from({ length: 8 }, (_, i) => (x[2 * i] ?? 0) * (x[2 * i + 1] ?? 0)),
      [8, 1],
    ),
  };
};
const silent = (_warning: TrainingWarning): void => undefined;

async function start(precision: PrecisionChoice, options: Record<string, unknown> = {}) {
  return trainer({
    backend: await reference(),
    params: parameters(),
    loss,
    optimizer: momentum({ learningRate: 0.05 }),
    precision,
    onWarning: silent,
    ...options,
  });
}

describe("trainer", () => {
  it("trains in float32 and in mixed float16 to losses close to each other", async () => {
    const final: number[] = [];
    for (const precision of [float32(), mixedFloat16()]) {
      const training = await start(precision);
      let last = Number.POSITIVE_INFINITY;
      let first = 0;
      for (let step = 0; step < 60; step++) {
        const result = await training.step(batch(step % 4));
        // 65536 times this loss's gradients is beyond f16 for a step or two.
        if (step > 4) expect(result.applied).toBe(true);
        if (step === 0) first = result.loss;
        last = result.loss;
      }
      expect(last).toBeLessThan(first * 0.7);
      final.push(last);
      const { applied, skipped } = await training.counters();
      expect(applied + skipped).toBe(60);
      expect(skipped).toBeLessThanOrEqual(precision.name === "float32" ? 0 : 4);
      await training.dispose();
    }
    expect(Math.abs((final[1] ?? 0) / (final[0] ?? 1) - 1)).toBeLessThan(0.05);
  });

  it("skips a step that overflows and moves nothing but scaler and counters", async () => {
    const scaler = dynamicLossScale({
      initialScale: 2 ** 40,
      maxScale: 2 ** 40,
      growthInterval: 2,
    });
    const training = await start({ ...mixedFloat16(), lossScaler: scaler });
    const before = await training.parameters();
    const result = await training.step(batch(0));
    expect(result).toMatchObject({ applied: false, scale: 2 ** 40 });
    expect(await training.parameters()).toEqual(before);
    expect(await training.counters()).toEqual({ applied: 0, iteration: 1, skipped: 1, scale: 2 ** 39 });
    await training.dispose();
  });

  it("retries the same batch at lower scales and counts one iteration", async () => {
    const scaler = dynamicLossScale({ initialScale: 2 ** 40, maxScale: 2 ** 40 });
    const training = await start({ ...mixedFloat16(), lossScaler: scaler }, { onOverflow: "retry" });
    const result = await training.step(batch(0));
    expect(result.applied).toBe(true);
    expect(result.retries).toBeGreaterThan(10);
    expect(await training.counters()).toMatchObject({ applied: 1, iteration: 1, skipped: 0 });
    await training.dispose();
  });

  it("accumulates microbatches into the same step as one batch of them all", async () => {
    const whole = await start(float32(), { optimizer: sgd({ learningRate: 0.1 }) });
    const parts = await start(float32(), { optimizer: sgd({ learningRate: 0.1 }), accumulate: 2 });
    const big = batch(0);
    const slice = (from: number) => ({
      x: tensor(big.x.data.slice(from * 8, from * 8 + 8), [4, 2]),
      y: tensor(big.y.data.slice(from * 4, from * 4 + 4), [4, 1]),
    });
    const one = await whole.step(big);
    const two = await parts.step(slice(0), slice(1));
    expect(two.loss).toBeCloseTo(one.loss, 6);
    expect(two.gradNorm).toBeCloseTo(one.gradNorm, 5);
    const [a, b] = [await whole.parameters(), await parts.parameters()];
    for (const [index, value] of a.hidden.w.data.entries()) {
      expect(b.hidden.w.data[index]).toBeCloseTo(value, 6);
    }
    await whole.dispose();
    await parts.dispose();
  });

  it("throws with the culprit after too many skips in a row", async () => {
    const training = await start(mixedFloat16(), { maxConsecutiveSkips: 2 });
    const poisoned = batch(0);
    poisoned.x.data[3] = Number.NaN;
    await training.step(poisoned);
    await training.step(poisoned);
    await expect(training.step(poisoned)).rejects.toThrow(/3 steps in a row .* batch\/x \(input/);
    await training.dispose();
  });

  it("carries model state with the step and names a shape mismatch by the user's line", async () => {
    const training = await trainer({
      backend: await reference(),
      params: { w: tensor(Float32Array.of(1)) },
      modelState: { mean: tensor(Float32Array.of(0)) },
      loss: (
        { w },
        { x }: { x: Tensor },
        { modelState, training: on, key }: LossContext<{ mean: Tensor }>,
      ) => {
        const kept = where(randomBernoulli(key, 0.5, x.shape), x, 0);
        return { loss: reduceMean(mul(kept, w)), modelState: { mean: add(modelState.mean, on ? 1 : 0) } };
      },
      optimizer: adamW({ learningRate: 0.1 }),
      precision: float32(),
    });
    await training.step({ x: tensor(Float32Array.of(1, 2, 3)) });
    expect((await training.modelState()).mean.data[0]).toBe(1);
    await training.dispose();
    const wrong = await start(float32());
    await expect(wrong.step({ ...batch(0), x: tensor(wave(9, 1), [3, 3]) })).rejects.toThrow(
      /MatMul: inner sizes differ, \[3, 3\] by \[2, 4\] \(at .*trainer\.test\.ts:\d+/,
    );
    await wrong.dispose();
  });

  it("keeps parameters apart whose paths differ in a dot, and any metric's name", async () => {
    type Parameters = { readonly "a.b": Tensor; readonly a: { readonly b: Tensor } };
    const training = await start(float32(), {
      params: { "a.b": tensor(Float32Array.of(2)), a: { b: tensor(Float32Array.of(1)) } },
      loss: (weights: Parameters) => {
        const one = reduceMean(mul(weights.a.b, weights.a.b));
        const sum = add(one, reduceMean(weights["a.b"]));
        return { loss: sum, metrics: Object.fromEntries([["__proto__", one]]) };
      },
      optimizer: sgd({ learningRate: 0.25 }),
    });
    const { metrics } = await training.step(batch(0) as never);
    expect(Object.entries(metrics)).toEqual([["__proto__", 1]]);
    expect(await training.parameters()).toEqual({
      "a.b": tensor(Float32Array.of(1.75)),
      a: { b: tensor(Float32Array.of(0.5)) },
    });
    await training.dispose();
  });
});
