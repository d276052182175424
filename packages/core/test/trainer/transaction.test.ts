// What a step commits and what it never does.

import { type HostTensor, type Tensor, tensor } from "@mp/graph";
import { constant, literal, mul, reduceMean, reduceSum } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { adam } from "../../src/optim/adam.js";
import { chain } from "../../src/optim/chain.js";
import { clipByValue } from "../../src/optim/clip.js";
import { exponentialDecay } from "../../src/optim/schedules/exponential-decay.js";
import { momentum, sgd } from "../../src/optim/sgd.js";
import { dynamicLossScale, type LossScaler, staticLossScale } from "../../src/precision/loss-scaler.js";
import { float32, mixedBfloat16, mixedFloat16, type Precision } from "../../src/precision/presets.js";
import type { TrainingWarning } from "../../src/train/definition/warning.js";
import { trainer } from "../../src/train/trainer.js";
import {
  batch,
  params,
  type SmallOptions,
  type SmallTrainer,
  smallRun,
  stateOf,
  wave,
} from "../small-run.js";

const dynamic = (options: Parameters<typeof dynamicLossScale>[0]): LossScaler => dynamicLossScale(options);
const poisoned = (value: number) => {
  const { x, y } = batch(7);
  const data = Float32Array.from(x.data);
  data[5] = value;
  return { x: tensor(data, [4, 3]), y };
};

/** The bits of all state but scaler and counters. */
async function committed(training: SmallTrainer): Promise<unknown> {
  const { counters: _, ...rest } = (await stateOf(training)) as Record<string, unknown>;
  return rest;
}

const precisions: Readonly<Record<string, Precision>> = {
  float32: float32(),
  mixedFloat16: { ...mixedFloat16(), lossScaler: dynamic({ initialScale: 1024 }) },
  mixedBfloat16: mixedBfloat16(),
  static: { ...mixedFloat16(), lossScaler: staticLossScale(64) },
};

describe("a learning rate that is not finite", () => {
  const infinite = exponentialDecay(0.1, { decay: 1e20, every: 1 });
  it.each<readonly [string, SmallOptions["optimizer"]]>([
    ["a schedule that grows", sgd({ learningRate: infinite })],
    ["inside a chain", chain(clipByValue(1), adam({ learningRate: infinite }))],
  ])("skips the step, also where a parameter has no gradient: %s", async (_name, optimizer) => {
    const training = await smallRun({
      optimizer,
      loss: ({ hidden }, _batch, { modelState }) => ({
        loss: mul(reduceSum(mul(hidden.w, hidden.w)), 0),
        metrics: { error: literal(0) },
        modelState,
      }),
    });
    const before = await training.parameters();
    const applied: boolean[] = [];
    for (let step = 0; step < 4; step++) applied.push((await training.step(batch(step))).applied);
    expect(applied).toEqual([true, true, false, false]);
    expect(await training.parameters()).toEqual(before);
  });
});

describe("data that is not finite", () => {
  for (const [name, precision] of Object.entries(precisions)) {
    it.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])(
      `${name}: %f moves scaler, counters and randomness, and nothing else`,
      async (value) => {
        const options: Partial<SmallOptions> = {
          precision,
          optimizer: adam({ learningRate: 0.1 }),
          clipNorm: 1,
        };
        const training = await smallRun(options);
        await training.step(batch(0));
        const before = await committed(training);
        const result = await training.step(poisoned(value));
        expect(result.applied).toBe(false);
        expect(await committed(training)).toEqual(before);
        const { applied, iteration, skipped } = await training.counters();
        expect({ applied, iteration, skipped }).toEqual({ applied: 1, iteration: 2, skipped: 1 });
        // Adam counts applied steps: the next is its second, with the randomness of iteration 2.
        expect((await training.step(batch(1))).applied).toBe(true);
      },
    );
  }
});

describe("an overflow of the scale alone", () => {
  const start = (options: Partial<SmallOptions> = {}) =>
    smallRun({
      precision: { ...mixedFloat16(), lossScaler: dynamic({ initialScale: 2 ** 24 }) },
      ...options,
    });

  it("is skipped at each scale until one fits", async () => {
    const training = await start();
    const before = await committed(training);
    let skips = 0;
    while (!(await training.step(batch(0))).applied) {
      skips++;
      expect((await training.counters()).scale).toBe(2 ** (24 - skips));
      expect(await committed(training)).toEqual(before);
    }
    expect(skips).toBeGreaterThan(4);
    expect(await training.counters()).toMatchObject({ applied: 1, iteration: skips + 1, skipped: skips });
  });

  it("is retried on the same data with the same randomness, as one iteration", async () => {
    const retrying = await start({ onOverflow: "retry" });
    const result = await retrying.step(batch(0));
    expect(result.retries).toBeGreaterThan(4);
    const direct = await smallRun({
      precision: { ...mixedFloat16(), lossScaler: dynamic({ initialScale: result.scale }) },
    });
    const { retries, ...same } = await direct.step(batch(0));
    expect(retries).toBe(0);
    expect(result).toMatchObject(same);
    expect(await retrying.parameters()).toEqual(await direct.parameters());
    expect(await retrying.counters()).toMatchObject({ applied: 1, iteration: 1, skipped: 0 });
    expect(await retrying.step(batch(1))).toEqual(await direct.step(batch(1)));
  });

  it("is retried no more often than maxRetries, then skipped", async () => {
    const training = await start({ onOverflow: "retry", maxRetries: 3 });
    expect(await training.step(batch(0))).toMatchObject({ applied: false, retries: 3, scale: 2 ** 21 });
    expect(await training.counters()).toMatchObject({ applied: 0, iteration: 1, skipped: 1, scale: 2 ** 20 });
    // Its budget is per batch.
    expect(await training.step(batch(0))).toMatchObject({ retries: 3, scale: 2 ** 17 });
  });

  it("is not retried once the scaler has come to rest: what it would run is what it has run", async () => {
    const training = await start({ onOverflow: "retry" });
    expect(await training.step(poisoned(Number.NaN))).toMatchObject({
      applied: false,
      retries: 24,
      scale: 1,
    });
    expect(await training.step(poisoned(Number.NaN))).toMatchObject({ applied: false, retries: 0, scale: 1 });
    for (const name of ["float32", "static"]) {
      const still = await smallRun({ precision: precisions[name] ?? float32(), onOverflow: "retry" });
      expect(await still.step(poisoned(Number.NaN))).toMatchObject({ applied: false, retries: 0 });
    }
  });

  it("within its tolerance is retried at the same scale first", async () => {
    const lossScaler = dynamic({ initialScale: 2 ** 24, hysteresis: 3 });
    const training = await smallRun({ precision: { ...mixedFloat16(), lossScaler }, onOverflow: "retry" });
    const patient = await training.step(batch(0));
    const hasty = await (await start({ onOverflow: "retry" })).step(batch(0));
    expect(patient.retries).toBe(hasty.retries + 2);
    expect(patient.scale).toBe(hasty.scale);
  });
});

/** 4 · w · x, whose gradient is 4 · x, in f32: that can overflow where the loss does not. */
async function linear(options: Partial<Parameters<typeof trainer>[0]>) {
  return trainer({
    backend: await reference(),
    params: { w: tensor(Float32Array.of(2 ** -10, 1)) },
    loss: ({ w }, { x }) => mul(reduceSum(mul(w, x)), 4),
    optimizer: sgd({ learningRate: 1 }),
    precision: float32(),
    onWarning: () => undefined,
    ...(options as object),
  });
}
/** A scalar that a literal could not be. */
const wild = (scale: number): Tensor => constant(tensor(Float32Array.of(scale), []));
const vector = (...numbers: number[]): { readonly x: HostTensor<"f32"> } => ({
  x: tensor(Float32Array.from(numbers)),
});

describe("the finite check", () => {
  it("does not sum: finite gradients whose sum is infinite are applied", async () => {
    const training = await linear({ optimizer: sgd({ learningRate: 2 ** -100 }) });
    const result = await training.step(vector(7e37, -7e37));
    expect(result).toMatchObject({ applied: true, gradNorm: Number.POSITIVE_INFINITY });
  });

  it("sees gradients that only unscaling makes infinite, at scales below 1", async () => {
    for (const lossScaler of [
      staticLossScale(2 ** -10),
      dynamic({ initialScale: 2 ** -10, minScale: 2 ** -20 }),
    ]) {
      const training = await linear({ precision: { ...float32(), lossScaler } });
      expect((await training.step(vector(1, 2))).applied).toBe(true);
      const before = await training.parameters();
      const result = await training.step({ x: tensor(Float32Array.of(3e38, 1)) });
      expect(result.applied).toBe(false);
      expect(await training.parameters()).toEqual(before);
    }
  });

  it("skips what clipping would turn to nothing because the norm overflows", async () => {
    const training = await linear({ clipNorm: 1 });
    const before = await training.parameters();
    expect((await training.step(vector(1e30, 1))).applied).toBe(false);
    expect(await training.parameters()).toEqual(before);
    expect((await training.step(vector(1e15, 1))).applied).toBe(true);
  });

  const wildly = (scale: number, bounds: Partial<LossScaler> = {}): Precision => ({
    ...float32(),
    lossScaler: {
      name: "wild",
      init: () => ({}),
      scale: () => wild(scale),
      update: (state) => state,
      ...bounds,
    },
  });

  it.each<readonly [number, Partial<LossScaler>, string]>([
    [Number.NaN, {}, "NaN, which is no number from 2^-126 to 2^126"],
    [0, {}, "0, which is no number from 2^-126"],
    [-4, {}, "-4, which is no number from 2^-126"],
    [Number.POSITIVE_INFINITY, {}, "Infinity, which is no number from 2^-126"],
    [2 ** 127, {}, "1.7014118346046923e+38, which is no number from 2^-126 to 2^126"],
    [2 ** -127, {}, "5.877471754111438e-39, which is no number from 2^-126"],
    [0.5, { minScale: 1, maxScale: 2 ** 24 }, "0.5, which is no number from 2^0 to 2^24"],
    [2 ** 25, { minScale: 1, maxScale: 2 ** 24 }, "33554432, which is no number from 2^0 to 2^24"],
  ])(
    "applies nothing at a scale of %f, and says whose it is and what to do",
    async (scale, bounds, wrong) => {
      const received: TrainingWarning[] = [];
      const training = await linear({
        precision: wildly(scale, bounds),
        maxConsecutiveSkips: 2,
        onWarning: (warning: TrainingWarning) => void received.push(warning),
      });
      const batch = vector(2 ** -20, 2);
      const message = `loss scaler wild gave the scale ${wrong}`;
      expect(await training.step(batch)).toMatchObject({ applied: false, scale });
      expect(await training.step(batch)).toMatchObject({ applied: false, scale });
      expect((await training.parameters()).w.data).toEqual(Float32Array.of(2 ** -10, 1));
      expect(received).toMatchObject([
        { type: "numerics", message: expect.stringContaining(message) as string },
      ]);
      expect(await training.diagnose([batch])).toMatchObject({
        value: "scale",
        phase: "scale",
        remedy: expect.stringContaining(message) as string,
      });
      expect(await training.diagnose([batch], { scale })).toMatchObject({
        cause: "scale out of range",
        value: "scale",
      });
      const failure: unknown = await training.step(batch).catch((error: unknown) => error);
      expect(failure).toMatchObject({
        code: "MP_NON_FINITE",
        message: expect.stringContaining(message) as string,
        details: { skips: 3, scale, diagnosis: { phase: "scale" } },
      });
    },
  );

  it("takes a scale at the very bound of its range, which f32 rounds down as it rounds the scale", async () => {
    for (const lossScaler of [
      staticLossScale(1000.1),
      dynamic({ initialScale: 1000.1, minScale: 1000.1, maxScale: 1000.1 }),
    ]) {
      const training = await linear({ precision: { ...float32(), lossScaler } });
      expect(await training.step(vector(1, 2))).toMatchObject({ applied: true, scale: Math.fround(1000.1) });
    }
  });

  it("tells the scaler of what it has a part in: not of an update that no scale would have helped", async () => {
    const lossScaler = dynamic({ initialScale: 2 ** 10, growthInterval: 3 });
    const overflowing = await linear({
      optimizer: sgd({ learningRate: 3e38 }),
      precision: { ...float32(), lossScaler },
      onOverflow: "retry",
    });
    for (let step = 0; step < 2; step++) {
      expect(await overflowing.step(vector(3, 1))).toMatchObject({
        applied: false,
        retries: 0,
        scale: 2 ** 10,
      });
    }
    expect((await overflowing.step(vector(Number.NaN, 1))).retries).toBeGreaterThan(0);
    expect((await overflowing.counters()).scale).toBeLessThan(2 ** 10);
  });

  it("covers the model state", async () => {
    const training = await trainer({
      backend: await reference(),
      params: { w: tensor(Float32Array.of(1)) },
      modelState: { sum: tensor(Float32Array.of(0)) },
      loss: ({ w }, { x }, { modelState }) => ({
        loss: reduceMean(w),
        modelState: { sum: mul(modelState.sum, mul(x, x)) },
      }),
      optimizer: sgd({ learningRate: 1 }),
      precision: float32(),
    });
    expect((await training.step(vector(1))).applied).toBe(true);
    expect((await training.step(vector(1e30))).applied).toBe(false);
    expect((await training.modelState()).sum.data[0]).toBe(0);
  });

  it("covers new parameters and optimizer state unless it is turned off", async () => {
    const cases = [
      [sgd({ learningRate: 3e38 }), vector(3, 1), 0],
      [momentum({ learningRate: 0, momentum: 0.99 }), vector(8e37, 1), 1],
      [adam({ learningRate: 1 }), vector(1e30, 1), 0],
    ] as const;
    for (const [optimizer, data, good] of cases) {
      const [careless, careful] = [
        await linear({ optimizer, checkNewParameters: false }),
        await linear({ optimizer }),
      ];
      for (let step = 0; step < good; step++) {
        expect(await careful.step(data)).toEqual(await careless.step(data));
      }
      const before = await careful.parameters();
      expect((await careless.step(data)).applied, optimizer.name).toBe(true);
      expect((await careful.step(data)).applied, optimizer.name).toBe(false);
      expect(await careful.parameters()).toEqual(before);
    }
  });
});

describe("steps that are skipped in a row", () => {
  it("throw once there are more than tolerated, with the first value that was not finite", async () => {
    const training = await smallRun({ maxConsecutiveSkips: 2 });
    for (let step = 0; step < 2; step++) await training.step(poisoned(Number.NaN));
    const error = await training.step(poisoned(Number.NaN)).then(
      () => expect.fail("did not throw"),
      (reason: unknown) => reason,
    );
    expect(error).toMatchObject({
      code: "MP_NON_FINITE",
      message: expect.stringMatching(
        /^step: 3 steps in a row were not finite and were skipped, first in batch\/x \(input, f32\[4, 3\]\); the data itself/,
      ) as string,
      details: { skips: 3, scale: 1, diagnosis: { value: "batch/x", phase: "input" } },
    });
    // The run has not ended: a good batch trains, and restarts the count.
    expect((await training.step(batch(0))).applied).toBe(true);
    expect(await training.counters()).toMatchObject({ applied: 1, iteration: 4, skipped: 3 });
    for (let step = 0; step < 2; step++)
      expect((await training.step(poisoned(Number.NaN))).applied).toBe(false);
    await expect(training.step(poisoned(Number.NaN))).rejects.toMatchObject({ code: "MP_NON_FINITE" });
  });

  it("name the microbatch's value and stand in the data behind it", async () => {
    const training = await smallRun({ maxConsecutiveSkips: 1, accumulate: 2 });
    const fitting = training.fit([
      batch(0),
      poisoned(Number.NaN),
      poisoned(Number.NaN),
      batch(1),
      batch(2),
      batch(3),
    ]);
    await expect(fitting).rejects.toThrow(/2 steps in a row .* first in batch\/x/);
    expect(await training.fit([batch(0), batch(1), batch(2), batch(3), batch(4), batch(5)])).toMatchObject({
      made: 1,
    });
  });

  it("have their cause named by diagnose: the data, the forward pass, the gradient, or nothing", async () => {
    const training = await smallRun({
      precision: { ...mixedFloat16(), lossScaler: dynamic({ initialScale: 2 ** 24 }) },
    });
    const before = await stateOf(training);
    expect(await training.diagnose([poisoned(Number.NaN)])).toMatchObject({
      phase: "input",
      value: "batch/x",
    });
    expect(await training.diagnose([batch(0)])).toMatchObject({
      phase: "backward",
      remedy: expect.stringContaining("loss scale") as string,
    });
    const huge = { x: wave([4, 3], 1), y: tensor(new Float32Array(4).fill(3e38), [4, 1]) };
    expect(await training.diagnose([huge])).toMatchObject({
      phase: expect.stringMatching(/forward|loss/) as string,
    });
    expect(await stateOf(training)).toEqual(before);
    expect(await (await smallRun()).diagnose([batch(0)])).toBeUndefined();
  });
});

it("a static scale that is no power of two is said to round", async () => {
  const received: TrainingWarning[] = [];
  await smallRun({
    precision: { ...mixedFloat16(), lossScaler: staticLossScale(1000) },
    onWarning: (warning) => void received.push(warning),
  });
  expect(received).toEqual([
    {
      type: "numerics",
      message:
        "staticLossScale: scale 1000 is not a power of two, so scaling rounds the gradients; 1024 would not",
    },
  ]);
});

it("evaluation reads the state, leaves it, and is not scaled", async () => {
  const training = await smallRun({
    precision: { ...mixedFloat16(), lossScaler: dynamic({ initialScale: 2 ** 24 }) },
  });
  const before = await stateOf(training);
  const { loss, metrics, modelState } = await training.evaluate(batch(0));
  expect(Number.isFinite(loss) && Number.isFinite(metrics.error)).toBe(true);
  expect(modelState.seen.data[0]).toBe(1);
  const again = await training.evaluate(batch(0), { modelState });
  expect(again.modelState.seen.data[0]).toBe(2);
  expect(again.loss).toBe(loss);
  expect(await stateOf(training)).toEqual(before);
  expect((await training.parameters()).out).toEqual(params().out);
});
