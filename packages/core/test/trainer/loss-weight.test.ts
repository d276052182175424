/** Losses that return a weight: windows form the mean over everything that counts. */
import { type HostTensor, type Tensor, tensor } from "@mp/graph";
import { add, cast, div, matMul, mul, reduceSum, sub } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { updater } from "../../src/compat/updater.js";
import { sgd } from "../../src/optim/sgd.js";
import { dynamicLossScale } from "../../src/precision/loss-scaler.js";
import { float32, mixedFloat16 } from "../../src/precision/presets.js";
import type { LossContext, LossParts } from "../../src/train/definition/loss.js";
import type { TrainerOptions } from "../../src/train/options.js";
import { trainer } from "../../src/train/trainer.js";
import { wave } from "../small-run.js";

interface Params {
  readonly w: HostTensor<"f32">;
}
interface Batch {
  readonly x: Tensor;
  readonly y: Tensor;
  readonly weights: Tensor;
}
type State = { readonly sum: HostTensor<"f32"> };
type Options = TrainerOptions<Params, Batch, State, "bias">;

/** A mean that is 0 / 0 if nothing counts, as are its metric, its gradients and its model state. */
const loss = (
  { w }: { readonly w: Tensor },
  { x, y, weights }: Batch,
  { modelState }: LossContext<{ readonly sum: Tensor }>,
): LossParts<{ readonly sum: Tensor }, "bias"> => {
  const error = sub(matMul(x, w), y);
  const weight = reduceSum(weights);
  const mean = (each: Tensor): Tensor => div(reduceSum(mul(each, weights)), weight);
  return {
    loss: mean(mul(error, error)),
    weight,
    metrics: { bias: mean(error) },
    modelState: { sum: add(modelState.sum, div(weight, weight)) },
  };
};

async function start(options: Partial<Options> = {}) {
  return trainer<Params, Batch, State, "bias">({
    backend: await reference(),
    params: { w: wave([3, 1], 1) },
    modelState: { sum: tensor(Float32Array.of(0), []) },
    loss,
    optimizer: sgd({ learningRate: 0.1 }),
    precision: float32(),
    onWarning: () => undefined,
    ...options,
  });
}

/** A batch of a row for each weight. */
const rows = (weights: readonly number[], seed = 0, size = 1) => {
  const x = wave([weights.length, 3], 0.37 + seed);
  const y = wave([weights.length, 1], 0.91 + seed);
  return {
    x: tensor(
      x.data.map((value) => value * size),
      x.shape,
    ),
    y: tensor(
      y.data.map((value) => value * size),
      y.shape,
    ),
    weights: tensor(Float32Array.from(weights), [weights.length, 1]),
  };
};

type Rows = ReturnType<typeof rows>;

const joined = (parts: readonly Rows[]): Rows => {
  const join = (name: keyof Rows, width: number): HostTensor<"f32"> => {
    const data = parts.flatMap((part) => [...part[name].data]);
    return tensor(Float32Array.from(data), [data.length / width, width]);
  };
  return { x: join("x", 3), y: join("y", 1), weights: join("weights", 1) };
};

const windows = fc.array(
  fc.array(fc.oneof(fc.constant(0), fc.constant(1), fc.double({ min: 0.125, max: 64, noNaN: true })), {
    minLength: 1,
    maxLength: 5,
  }),
  { minLength: 1, maxLength: 4 },
);
const scalers = fc.constantFrom("static", "overflow", "retry");

describe("a loss with a weight", () => {
  it("makes of a window of any sizes and weights the step of the whole batch, also after overflows", async () => {
    await fc.assert(
      fc.asyncProperty(
        windows,
        scalers,
        fc.constantFrom(undefined, 0.25),
        async (weights, kind, clipNorm) => {
          const parts = weights.map((each, at) => rows(each, at));
          const isEmpty = weights.flat().every((weight) => weight === 0);
          const options: Partial<Options> = {
            ...(clipNorm === undefined ? {} : { clipNorm }),
            ...(kind === "static"
              ? {}
              : {
                  precision: { ...float32(), lossScaler: dynamicLossScale({ initialScale: 2 ** 126 }) },
                  onOverflow: kind === "retry" ? ("retry" as const) : ("skip" as const),
                }),
          };
          await using whole = await start(options);
          await using window = await start({ ...options, accumulate: parts.length });
          const all = joined(parts);
          // Without a retry the scale falls from step to step.
          const untilApplied = async (step: () => ReturnType<typeof whole.step>) => {
            for (let left = 20; ; left--) {
              const result = await step();
              if (result.applied || isEmpty || left === 0) return result;
            }
          };
          const one = await untilApplied(() => whole.step(all));
          const other = await untilApplied(() => window.step(...parts));
          if (isEmpty) {
            for (const result of [one, other])
              expect(result).toMatchObject({
                applied: false,
                reason: "no weight",
                weight: 0,
                loss: Number.NaN,
              });
            expect(await window.parameters()).toEqual(await whole.parameters());
            return;
          }
          expect(other).toMatchObject({ applied: true });
          expect(other.reason).toBeUndefined();
          expect(other.weight).toBeCloseTo(one.weight ?? Number.NaN, 4);
          expect(other.loss).toBeCloseTo(one.loss, 5);
          expect(other.metrics.bias).toBeCloseTo(one.metrics.bias, 6);
          expect(other.gradNorm).toBeCloseTo(one.gradNorm, 5);
          const [a, b] = [(await whole.parameters()).w.data, (await window.parameters()).w.data];
          for (const [at, value] of a.entries()) expect(Math.abs((b[at] ?? 0) - value)).toBeLessThan(1e-6);
          // Only microbatches that count leave model state.
          const counting = weights.filter((each) => each.some((weight) => weight > 0)).length;
          expect((await window.modelState()).sum.data[0]).toBe(counting);
        },
      ),
      { numRuns: 60, seed: 41 },
    );
  });

  it("gives gradients of 1 of one token and 3 of nine the mean 2.8", async () => {
    const training = await trainer({
      backend: await reference(),
      params: { w: tensor(Float32Array.of(0), []) },
      loss: ({ w }, { g, n }: { readonly g: Tensor; readonly n: Tensor }) => ({ loss: mul(w, g), weight: n }),
      optimizer: sgd({ learningRate: 1 }),
      precision: float32(),
      accumulate: 2,
    });
    const batch = (g: number, n: number) => ({
      g: tensor(Float32Array.of(g), []),
      n: tensor(Int32Array.of(n), []),
    });
    const { weight } = await training.step(batch(1, 1), batch(3, 9));
    expect(weight).toBe(10);
    expect((await training.parameters()).w.data[0]).toBeCloseTo(-2.8, 6);
  });

  it("leaves scale, retries and the row of skips alone in a step of weight 0, and says why", async () => {
    const warnings: string[] = [];
    for (const accumulate of [1, 2]) {
      const lossScaler = dynamicLossScale({ initialScale: 16, growthInterval: 2 });
      const training = await start({
        accumulate,
        precision: { ...float32(), lossScaler },
        onOverflow: "retry",
        maxConsecutiveSkips: 1,
        onWarning: ({ message }) => void warnings.push(message),
      });
      const step = (weights: readonly number[]) =>
        training.step(...Array.from({ length: accumulate }, (_, at) => rows(weights, at)));
      await step([1, 2]);
      const before = [await training.parameters(), await training.modelState(), await training.scalerState()];
      for (let empty = 0; empty < 4; empty++) {
        const result = await step([0, 0]);
        expect(result).toMatchObject({ applied: false, reason: "no weight", scale: 16, retries: 0 });
        expect([result.loss, result.metrics.bias]).toEqual([Number.NaN, Number.NaN]);
      }
      expect([
        await training.parameters(),
        await training.modelState(),
        await training.scalerState(),
      ]).toEqual(before);
      expect(await training.counters()).toEqual({ applied: 1, iteration: 5, skipped: 4, scale: 16 });
      // The steps in between do not count as good ones either.
      expect((await step([1, 0])).applied).toBe(true);
      expect((await training.counters()).scale).toBe(32);
    }
    expect(warnings).toEqual(
      Array(2).fill(
        "step: is not applied, since its total weight is 0: the loss counts nothing in it; check labels and masks",
      ),
    );
  });

  it("neither lengthens nor ends a row of skipped steps by one of weight 0", async () => {
    const bad = rows([1]);
    bad.y.data[0] = Number.NaN;
    const training = await start({ maxConsecutiveSkips: 1 });
    for (const batch of [rows([0]), rows([0], 1), bad, rows([0])])
      expect((await training.step(batch)).applied).toBe(false);
    await expect(training.step(bad)).rejects.toThrow("2 steps in a row were not finite");
  });

  it("does not blame what has weight 0 for a step that is not finite", async () => {
    const training = await start({ accumulate: 2 });
    const bad = rows([1, 1], 1);
    bad.y.data[0] = Number.POSITIVE_INFINITY;
    const window = [rows([0, 0], 0), bad] as const;
    expect(await training.step(...window)).toMatchObject({ applied: false, reason: "not finite" });
    expect(await training.diagnose(window)).toMatchObject({ value: "batch/y", cause: "data" });
    expect(await training.diagnose([window[0]])).toBeUndefined();
  });

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY])(
    "skips a step of weight %s as not finite",
    async (weight) => {
      for (const accumulate of [1, 2]) {
        const training = await start({ accumulate });
        const result = await training.step(rows([weight], 0), ...(accumulate === 1 ? [] : [rows([3], 1)]));
        expect(result).toMatchObject({ applied: false, reason: "not finite" });
      }
      const evaluated = (await start()).evaluateAll([rows([weight])]);
      await expect(evaluated).rejects.toThrow("evaluateAll: the loss's weight must be finite and at least 0");
    },
  );

  it("clips at scale 2^24 and weight 2^20 as at 1 and 1", async () => {
    const run = async (scale: number, weight: number) => {
      const lossScaler = dynamicLossScale({ initialScale: scale, minScale: 1, maxScale: 2 ** 24 });
      const training = await start({
        accumulate: 2,
        clipNorm: 1,
        precision: { ...float32(), lossScaler },
      });
      const step = await training.step(rows([weight], 0, 2 ** 20), rows([weight, 0], 1, 2 ** 20));
      return [step, (await training.parameters()).w] as const;
    };
    const [[plain, w], [large, v]] = [await run(1, 1), await run(2 ** 24, 2 ** 20)];
    expect(plain).toMatchObject({ applied: true });
    expect(large).toMatchObject({ applied: true });
    expect(large.gradNorm / plain.gradNorm).toBeCloseTo(1, 6);
    for (const [at, value] of w.data.entries()) expect(v.data[at]).toBeCloseTo(value, 6);
  });

  it("counts to 100 000 in halves", async () => {
    const many = 100_000;
    const training = await trainer({
      backend: await reference(),
      params: { w: wave([1, 1], 1) },
      loss: ({ w }, { x }: { readonly x: Tensor }) => ({
        loss: div(reduceSum(cast(matMul(x, w), "f32")), many),
        weight: reduceSum(cast(x, "i32")),
      }),
      optimizer: sgd({ learningRate: 0.1 }),
      precision: mixedFloat16(),
    });
    const { weight } = await training.step({ x: tensor(new Float32Array(many).fill(1), [many, 1]) });
    expect(weight).toBe(many);
  });

  it("is refused where gradients are added, and where only some batches have one", async () => {
    const refusal = 'loss: must not return a weight with accumulation: "sum", as in an updater';
    const adding = await start({ accumulation: "sum" });
    await expect(adding.step(rows([1]))).rejects.toThrow(refusal);
    const nnabla = await updater({
      backend: await reference(),
      params: { w: wave([3, 1], 1) },
      loss: ({ w }, { x }: { readonly x: Tensor }) => ({
        loss: reduceSum(matMul(x, w)),
        weight: reduceSum(x),
      }),
      solver: sgd({ learningRate: 1 }),
      dataFeeder: () => ({ x: wave([1, 3], 1) }),
    });
    await expect(nnabla.update()).rejects.toThrow(refusal);
    const sometimes = await start({
      accumulate: 2,
      loss: (weights, batch, context) => {
        const { weight: _, ...rest } = loss(weights, batch, context);
        return batch.x.shape[0] === 1 ? loss(weights, batch, context) : rest;
      },
    });
    const mixed = sometimes.step(rows([1]), rows([1, 1]));
    await expect(mixed).rejects.toThrow("loss: must return a weight for all batches or for none");
    await expect(sometimes.step(rows([1, 1]), rows([1]))).rejects.toThrow("must return a weight for all");
    const vector = await start({
      loss: ({ w }, { x, weights }) => ({ loss: reduceSum(matMul(x, w)), weight: weights }),
    });
    await expect(vector.step(rows([1, 1]))).rejects.toThrow(
      "the loss's weight must be a scalar, got f32[2, 1]",
    );
  });

  it("weighs evaluateAll: after the option samples, before the batch's own weights", async () => {
    await using training = await start();
    const parts = [rows([1, 2, 0]), rows([0, 0], 1), rows([4], 2)];
    const whole = await training.evaluate(joined(parts));
    const { loss: mean, metrics, samples } = await training.evaluateAll(parts);
    expect(whole.weight).toBe(7);
    expect(samples).toBe(7);
    expect(mean).toBeCloseTo(whole.loss, 6);
    expect(metrics.bias).toBeCloseTo(whole.metrics.bias, 6);
    const { samples: asked } = await training.evaluateAll(parts, {
      samples: ({ x }) => Number(x.shape[0] === 1),
    });
    expect(asked).toBe(1);
  });

  it("makes the same step of sums and of means of a hook", async () => {
    const parts = [rows([1, 2]), rows([0, 4], 1)] as const;
    const run = async (allReduce: NonNullable<Options["allReduce"]>) => {
      const training = await start({ accumulate: 2, allReduce });
      return [await training.step(...parts), await training.parameters()];
    };
    const half: NonNullable<Options["allReduce"]> = async (window) =>
      Object.fromEntries(
        Object.entries(window).map(([slot, value]) => [
          slot,
          { ...value, data: (value.data as Float32Array).map((x) => x / 2) } as HostTensor,
        ]),
      );
    const [[sums, w], [means, v]] = [await run(async (window) => window), await run(half)];
    expect(v).toEqual(w);
    expect(means).toEqual({ ...(sums as object), weight: 3.5 });
  });

  it("is each objective's own", async () => {
    const objective = (name: "a" | "b") => ({
      params: { [name]: true } as { readonly a?: true; readonly b?: true },
      optimizer: sgd({ learningRate: 1 }),
      loss: (weights: { readonly a: Tensor; readonly b: Tensor }, { n }: { readonly n: Tensor }) => ({
        loss: mul(weights[name], n),
        weight: name === "a" ? n : sub(4, n),
      }),
    });
    const training = await trainer({
      backend: await reference(),
      params: { a: tensor(Float32Array.of(0), []), b: tensor(Float32Array.of(0), []) },
      objectives: { a: objective("a"), b: objective("b") },
      precision: float32(),
      accumulate: 2,
      onWarning: () => undefined,
    });
    const n = (value: number) => ({ n: tensor(Float32Array.of(value), []) });
    const { a, b } = await training.step(n(1), n(3));
    expect([a.weight, b.weight]).toEqual([4, 4]);
    const moved = await training.parameters();
    expect(moved.a.data[0]).toBeCloseTo(-(1 * 1 + 3 * 3) / 4, 6);
    expect(moved.b.data[0]).toBeCloseTo(-(1 * 3 + 3 * 1) / 4, 6);
    const { a: some, b: none } = await training.step(n(4), n(4));
    expect(some).toMatchObject({ applied: true, weight: 8 });
    expect(none).toMatchObject({ applied: false, reason: "no weight" });
  });
});
