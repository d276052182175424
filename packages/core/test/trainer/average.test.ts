// The moving average of the weights, kept in the step.

import { type HostTensor, tensor } from "@mp/graph";
import { mul, reduceMean } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { adamW } from "../../src/optim/adam.js";
import { sgd } from "../../src/optim/sgd.js";
import { dynamicLossScale, staticLossScale } from "../../src/precision/loss-scaler.js";
import { kahan, noMasterWeights } from "../../src/precision/master-weights.js";
import { bfloat16, float32, mixedFloat16, type Precision } from "../../src/precision/presets.js";
import { trainer } from "../../src/train/trainer.js";
import type { EmaOptions } from "../../src/train/weights/average.js";
import { batch, params, type SmallOptions, type SmallTrainer, smallRun } from "../small-run.js";

const optimizer = adamW({ learningRate: 0.1 });
const flat = ({ hidden, out }: ReturnType<typeof params>): number[] =>
  [hidden.w, hidden.b, out].flatMap(({ data }) => [...data]);
const averageOf = async (training: SmallTrainer): Promise<number[]> =>
  flat(await training.parameters({ weights: "ema" }));

/** The average by its definition, of the weights after each applied step. */
const definitions: Readonly<
  Record<string, (weights: readonly (readonly number[])[], index: number) => number>
> = {
  copy: (weights, index) =>
    weights
      .slice(1)
      .reduce((mean, row) => 0.9 * mean + (1 - 0.9) * (row[index] as number), weights[0]?.[index] ?? 0),
  debias: (weights, index) => {
    const shares = weights.map((_, at) => 0.9 ** (weights.length - 1 - at));
    const sum = shares.reduce((total, share) => total + share, 0);
    return weights.reduce(
      (total, row, at) => total + ((shares[at] as number) * (row[index] as number)) / sum,
      0,
    );
  },
  warmup: (weights, index) =>
    weights.reduce((mean, row, at) => {
      const kept = Math.min(0.9, (at + 1) / (at + 10));
      return kept * mean + (1 - kept) * (row[index] as number);
    }, flat(params())[index] as number),
};

describe("the average of the weights", () => {
  it.each(["copy", "debias", "warmup"] as const)("is what its definition says: %s", async (start) => {
    const training = await smallRun({ optimizer, ema: { decay: 0.9, start } });
    expect(await averageOf(training)).toEqual(flat(params()));
    const weights: number[][] = [];
    for (let step = 0; step < 12; step++) {
      await training.step(batch(step));
      weights.push(flat(await training.parameters()));
      for (const [index, got] of (await averageOf(training)).entries()) {
        expect(got).toBeCloseTo(definitions[start]?.(weights, index) ?? Number.NaN, 5);
      }
    }
    expect(await averageOf(training)).not.toEqual(weights.at(-1));
  });

  it.each<[string, Precision]>([
    ["float32", float32()],
    ["mixed float16", { ...mixedFloat16(), lossScaler: staticLossScale(256) }],
    ["kahan", { ...bfloat16(), masterWeights: kahan("bf16") }],
    ["no master weights", { ...bfloat16(), masterWeights: noMasterWeights("bf16") }],
  ])("is f32, of the weights as they are kept, beside frozen ones: %s", async (_name, precision) => {
    for (const accumulate of [1, 2]) {
      const options: Partial<SmallOptions> = {
        optimizer,
        precision,
        accumulate,
        frozen: { hidden: { w: true } },
      };
      const training = await smallRun({ ...options, ema: { decay: 0.75 } });
      const plain = await smallRun(options);
      const micro = () => Array.from({ length: accumulate }, (_, index) => batch(index));
      expect(await training.step(...micro())).toEqual(await plain.step(...micro()));
      const first = await training.parameters();
      // The first applied step copies.
      expect(await training.parameters({ weights: "ema" })).toEqual(first);
      expect(await training.step(...micro())).toEqual(await plain.step(...micro()));
      const second = await training.parameters();
      expect(second).toEqual(await plain.parameters());
      const average = await training.parameters({ weights: "ema" });
      expect(average.hidden.w).toEqual(first.hidden.w);
      const quarter = (a: number, b: number): number =>
        Math.fround(Math.fround(0.75 * a) + Math.fround(0.25 * b));
      const mean = (a: HostTensor<"f32">, b: HostTensor<"f32">) =>
        tensor(
          a.data.map((value, at) => quarter(value, b.data[at] ?? Number.NaN)),
          a.shape,
        );
      expect(average.out).toEqual(mean(first.out, second.out));
      expect(average.hidden.b).toEqual(mean(first.hidden.b, second.hidden.b));
    }
  });

  it("stays where a step is skipped", async () => {
    const precision = { ...mixedFloat16(), lossScaler: dynamicLossScale({ initialScale: 2 ** 24 }) };
    const training = await smallRun({
      optimizer: sgd({ learningRate: 1e-3 }),
      precision,
      ema: { decay: 0.5 },
    });
    let before = await averageOf(training);
    const seen = { skipped: 0, applied: 0 };
    for (let step = 0; step < 14; step++) {
      const { applied, gradNorm } = await training.step(batch(step));
      const after = await averageOf(training);
      if (!applied) expect(after).toEqual(before);
      else if (gradNorm > 0) expect(after).not.toEqual(before);
      seen[applied ? "applied" : "skipped"]++;
      before = after;
    }
    expect(seen.skipped).toBeGreaterThan(1);
    expect(seen.applied).toBeGreaterThan(1);
  });

  it("is what evaluate and predict read on request", async () => {
    const training = await smallRun({ optimizer, ema: { decay: 0.9 } });
    for (let step = 0; step < 4; step++) await training.step(batch(step));
    const average = await training.parameters({ weights: "ema" });
    const modelState = await training.modelState();
    const other = await smallRun({ params: average, modelState });
    const { loss, metrics } = await training.evaluate(batch(9), { weights: "ema" });
    expect({ loss, metrics }).toEqual(
      (({ loss, metrics }) => ({ loss, metrics }))(await other.evaluate(batch(9), { modelState })),
    );
    expect(loss).not.toBe((await training.evaluate(batch(9))).loss);
    const read = (weights?: "ema") =>
      training.predict(({ out }) => out, {}, weights === undefined ? {} : { weights });
    expect(await read("ema")).toEqual(average.out);
    expect(await read()).toEqual((await training.parameters()).out);
  });

  it("is saved, and a resumed run goes on with the same bits", async () => {
    const options: Partial<SmallOptions> = { optimizer, ema: { decay: 0.9, start: "debias" } };
    const whole = await smallRun(options);
    for (let step = 0; step < 3; step++) await whole.step(batch(step));
    const resumed = await smallRun(options);
    await resumed.loadBytes(await whole.saveBytes());
    expect(resumed.warnings).toEqual([]);
    for (let step = 3; step < 6; step++)
      expect(await resumed.step(batch(step))).toEqual(await whole.step(batch(step)));
    expect(await averageOf(resumed)).toEqual(await averageOf(whole));
  });

  it("is of all that several losses train", async () => {
    const training = await trainer({
      backend: await reference(),
      params: {
        a: tensor(Float32Array.of(1, 2)),
        b: tensor(Float32Array.of(3, 4)),
        c: tensor(Float32Array.of(5)),
      },
      objectives: {
        first: {
          loss: ({ a }) => reduceMean(mul(a, a)),
          params: { a: true },
          optimizer: sgd({ learningRate: 0.5 }),
        },
        second: {
          loss: ({ b }) => reduceMean(mul(b, b)),
          params: { b: true },
          optimizer: sgd({ learningRate: 0.25 }),
        },
      },
      ema: { decay: 0.5 },
      onWarning: () => undefined,
    });
    await training.step({});
    await training.step({});
    expect(await training.parameters()).toMatchObject({
      a: { data: Float32Array.of(0.25, 0.5) },
      b: { data: Float32Array.of(1.6875, 2.25) },
    });
    expect(await training.parameters({ weights: "ema" })).toMatchObject({
      a: { data: Float32Array.of(0.375, 0.75) },
      b: { data: Float32Array.of(1.96875, 2.625) },
      c: { data: Float32Array.of(5) },
    });
    const { first, second } = await training.evaluate({}, { weights: "ema" });
    expect([first.loss, second.loss]).toEqual(
      [(0.375 ** 2 + 0.75 ** 2) / 2, (1.96875 ** 2 + 2.625 ** 2) / 2].map(Math.fround),
    );
  });

  it.each<[unknown, RegExp]>([
    [{ decay: 1 }, /trainer: ema: decay must be at least 0 and below 1 in f32, got 1/],
    [{}, /trainer: ema: decay/],
    [{ decay: 0.9, start: "zero" }, /trainer: ema: start must be "copy" or "debias" or "warmup", got "zero"/],
    [{ decay: 0.9, momentum: 1 }, /momentum/],
    [0.9, /trainer: ema: takes options such as { decay: 0.999 }, got 0.9/],
  ])("is not made of %j", async (ema, message) => {
    await expect(smallRun({ ema: ema as EmaOptions })).rejects.toThrow(message);
  });

  it("is refused where there is none", async () => {
    const training = await smallRun();
    const none = /: this run has no average of its weights; make the trainer with ema: { decay: 0.999 }/;
    await expect(training.parameters({ weights: "ema" })).rejects.toThrow(none);
    await expect(training.evaluate(batch(0), { weights: "ema" })).rejects.toThrow(none);
    await expect(training.predict(({ out }) => out, {}, { weights: "ema" })).rejects.toThrow(none);
    await expect(training.parameters({ weights: "mean" as never })).rejects.toThrow(
      'parameters: weights must be "current" or "ema", got "mean"',
    );
  });
});
