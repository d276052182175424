/** Whole data sets: `evaluateAll` against the same samples evaluated as one batch. */

import { type HostTensor, type Tensor, tensor } from "@mp/graph";
import { cast, div, equal, mul, reduceMean, reduceSum, sub } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { adam } from "../../src/optim/adam.js";
import { sgd } from "../../src/optim/sgd.js";
import { float32 } from "../../src/precision/presets.js";
import type { TrainingWarning } from "../../src/train/definition/warning.js";
import { trainer } from "../../src/train/trainer.js";
import { batch, params, smallRun, stateOf, trained, wave } from "../small-run.js";

const rows = (value: HostTensor<"f32">, from: number, to: number): HostTensor<"f32"> => {
  const [, width = 1] = value.shape;
  return tensor(value.data.slice(from * width, to * width), [to - from, width]);
};
const whole = batch(7, 11);
const part = (from: number, to: number) => ({ x: rows(whole.x, from, to), y: rows(whole.y, from, to) });
const parts = [part(0, 4), part(4, 8), part(8, 11)];

describe("evaluateAll", () => {
  it("weighs by samples and drops nothing", async () => {
    await using training = await trained();
    const atOnce = await training.evaluate(whole);
    const { loss, metrics, samples, batches } = await training.evaluateAll(parts);
    expect({ samples, batches }).toEqual({ samples: 11, batches: 3 });
    expect(loss).toBeCloseTo(atOnce.loss, 6);
    expect(metrics.error).toBeCloseTo(atOnce.metrics.error, 6);
    const one = await training.evaluateAll([whole]);
    expect(one).toEqual({ loss: atOnce.loss, metrics: atOnce.metrics, samples: 11, batches: 1 });
  });

  it("changes neither the state nor the position in any data, also within fit", async () => {
    await using training = await smallRun();
    await using plain = await smallRun();
    const data = [batch(0), batch(1), batch(2)];
    await plain.fit(data, { steps: 2 });
    await training.fit(data, { steps: 2, onStep: () => void training.evaluateAll(parts) });
    await training.evaluateAll(parts);
    expect(await stateOf(training)).toEqual(await stateOf(plain));
    await Promise.all([training.fit(data, { steps: 3 }), plain.fit(data, { steps: 3 })]);
    expect(await training.saveBytes()).toEqual(await plain.saveBytes());
  });

  it("reads the model state given, and the average of the weights", async () => {
    await using training = await trained({ ema: { decay: 0.5 } });
    const modelState = { mean: tensor(Float32Array.of(3), []), seen: tensor(Int32Array.of(1), []) };
    const options = { weights: "ema", modelState } as const;
    const { loss } = await training.evaluate(whole, options);
    expect((await training.evaluateAll([whole], options)).loss).toBe(loss);
    expect((await training.evaluateAll([whole])).loss).not.toBe(loss);
  });

  it("ends after `batches`, also in data without an end", async () => {
    await using training = await smallRun();
    function* endless() {
      for (;;) yield* parts;
    }
    const { samples, batches } = await training.evaluateAll(endless(), { batches: 5 });
    expect({ samples, batches }).toEqual({ samples: 19, batches: 5 });
  });

  it("counts by `samples`, or by the weights of padded batches", async () => {
    await using training = await weighted();
    const padded = {
      x: tensor(Float32Array.of(1, 2, 3, 9), [4]),
      weights: tensor(Float32Array.of(1, 1, 1, 0), [4]),
    };
    const full = {
      x: tensor(Float32Array.of(5, 6, 7, 8), [4]),
      weights: tensor(Float32Array.of(1, 1, 1, 1), [4]),
    };
    const nothing = { ...full, weights: tensor(new Float32Array(4), [4]) };
    const { loss, samples, batches } = await training.evaluateAll([full, padded, nothing]);
    expect({ loss, samples, batches }).toEqual({ loss: 32 / 7, samples: 7, batches: 3 });
    const byHand = await training.evaluateAll([full, padded], { samples: () => 1 });
    expect(byHand).toMatchObject({ loss: (6.5 + 2) / 2, samples: 2 });
  });

  it.each([
    ["data without batches", [], {}, "evaluateAll: the data gave no batches"],
    ["no data", 5, {}, "evaluateAll: data must be an iterable of batches"],
    [
      "a dataset's batch",
      [{ ...whole, z: parts[0]?.y }],
      {},
      "differ in their first dimension, batch/x [11, 3] and batch/z [4, 1]",
    ],
    ["a wrong count", parts, { samples: () => Number.NaN }, "samples gives a finite number ≥ 0, got NaN"],
    ["an unknown option", parts, { batch: 3 }, 'has no option "batch"; did you mean batches?'],
    ["a wrong limit", parts, { batches: 0 }, "evaluateAll: batches must be an integer ≥ 1, got 0"],
    ["weights of no average", parts, { weights: "ema" }, "this run has no average of its weights"],
    [
      "a scalar as metric",
      parts,
      { metrics: (_: unknown, { x }: { x: Tensor }) => ({ m: reduceMean(x) }) },
      "metrics: m must be a metric such as accuracy",
    ],
    [
      "no statistics",
      parts,
      { metrics: () => ({ m: { result: () => 1 } }) },
      "metrics: m has neither sums nor rows",
    ],
    [
      "a name twice",
      parts,
      {
        metrics: (_: unknown, { x }: { x: Tensor }) => ({
          error: { sums: { x: reduceSum(x) }, result: () => 1 },
        }),
      },
      'the loss returns a metric "error"',
    ],
  ])("refuses %s", async (_what, data, options, message) => {
    await using training = await smallRun();
    await expect(training.evaluateAll(data as typeof parts, options as object)).rejects.toMatchObject({
      code: "MP_INVALID_ARGUMENT",
      message: expect.stringContaining(message) as string,
    });
  });

  it("warns of what a dataset leaves out, as fit does that keeps partial batches", async () => {
    const warnings: TrainingWarning[] = [];
    await using training = await smallRun({ onWarning: (warning) => warnings.push(warning) });
    const dropping = { dropped: 3, [Symbol.iterator]: () => parts[Symbol.iterator]() };
    await training.fit(dropping);
    expect(warnings.filter(({ details }) => details?.["dropped"] === 3)).toEqual([]);
    await training.evaluateAll(dropping);
    await training.evaluateAll(dropping);
    await training.fit(dropping, { partial: "keep" });
    const dropWarnings = warnings.filter(({ details }) => details?.["dropped"] === 3);
    expect(dropWarnings.map(({ type, message }) => [type, message.slice(0, 45)])).toEqual([
      ["data", "evaluateAll: the dataset leaves out 3 example"],
      ["data", "fit: the dataset leaves out 3 examples of eac"],
    ]);
  });

  it("keeps as many programs as the trainer's option says, and warns once where it disposes one", async () => {
    const warnings: string[] = [];
    await using training = await smallRun({
      programs: 2,
      onWarning: ({ message }) => warnings.push(message),
    });
    const evicted = () => warnings.filter((message) => message.startsWith("more than 2 programs"));
    await training.evaluateAll(parts);
    expect(evicted()).toEqual([]);
    for (let rows = 1; rows < 5; rows++) await training.evaluate(batch(0, rows));
    expect(evicted()).toHaveLength(1);
    expect((await training.evaluateAll(parts)).samples).toBe(11);
    // A shape that is compiled again is no further one.
    for (const rows of [1, 2, 3, 1, 2, 3]) await training.step(batch(0, rows));
    expect(warnings.filter((message) => message.startsWith("step: a third distinct"))).toHaveLength(1);
  });

  it("closes the data and rejects with the signal's reason", async () => {
    await using training = await smallRun();
    const controller = new AbortController();
    let closed = false;
    function* data() {
      try {
        yield parts[0] as (typeof parts)[0];
        controller.abort(new Error("enough"));
        yield parts[1] as (typeof parts)[0];
        throw new Error("the third was asked for");
      } finally {
        closed = true;
      }
    }
    await expect(training.evaluateAll(data(), { signal: controller.signal })).rejects.toThrow("enough");
    expect(closed).toBe(true);
  });
});

describe("metrics of a whole set", () => {
  const metrics = (_: unknown, { x, y }: { x: Tensor; y: Tensor }) => ({
    meanOfX: {
      sums: { total: reduceSum(x), count: reduceSum(cast(equal(x, x), "i32")) },
      result: ({ total, count }: Readonly<Record<string, Float64Array>>) =>
        (total?.[0] ?? 0) / (count?.[0] ?? 0),
    },
    largest: {
      rows: { y },
      result: ({ y: all }: Readonly<Record<string, Float64Array>>) => [Math.max(...(all ?? [])), all?.length],
    },
  });

  it("add sums and append rows over batches of any size", async () => {
    const warnings: TrainingWarning[] = [];
    await using training = await smallRun({ onWarning: (warning) => warnings.push(warning) });
    const { metrics: found } = await training.evaluateAll(parts, { metrics });
    const mean = whole.x.data.reduce((sum, value) => sum + value, 0) / 33;
    expect(found.meanOfX).toBeCloseTo(mean, 6);
    expect(found.largest).toEqual([Math.max(...whole.y.data), 11]);
    expect(found.error).toBeCloseTo((await training.evaluate(whole)).metrics.error, 6);
    expect(await training.evaluateAll(parts, { metrics })).toEqual(
      await training.evaluateAll(parts, { metrics }),
    );
    expect(warnings).toEqual([]);
  });

  it("refuse sums that change in size", async () => {
    await using training = await smallRun();
    const sums = (_: unknown, { y }: { y: Tensor }) => ({ m: { sums: { y }, result: () => 0 } });
    await expect(training.evaluateAll(parts, { metrics: sums })).rejects.toThrow(
      "m: the sum y has 3 elements after 4 in earlier batches; what differs in size from batch to batch belongs in rows",
    );
  });

  it("warn of a function that is made anew for each call", async () => {
    const warnings: string[] = [];
    await using training = await smallRun({ onWarning: ({ message }) => warnings.push(message) });
    for (let call = 0; call < 3; call++) {
      await training.evaluateAll([whole], { metrics: (p, b) => metrics(p, b) });
    }
    expect(warnings).toContainEqual(
      expect.stringContaining("evaluateAll: metrics: a third function is being compiled"),
    );
  });
});

it("of padding alone is NaN, with the names of all metrics, and weights below 0 are refused", async () => {
  const vector = (...numbers: number[]) => tensor(Float32Array.from(numbers), [numbers.length]);
  await using training = await trainer({
    backend: await reference(),
    params: { w: tensor(Float32Array.of(0), []) },
    loss: ({ w }, { x }: { x: Tensor; weights: Tensor }) => {
      return { loss: reduceMean(sub(x, w)), metrics: { size: reduceMean(x) } };
    },
    optimizer: sgd({ learningRate: 0.1 }),
    precision: float32(),
  });
  const padding = await training.evaluateAll([{ x: vector(1, 2), weights: vector(0, 0) }]);
  expect(padding).toEqual({ loss: Number.NaN, metrics: { size: Number.NaN }, samples: 0, batches: 1 });
  for (const weight of [-1, Number.NaN]) {
    await expect(training.evaluateAll([{ x: vector(1), weights: vector(weight) }])).rejects.toThrow(
      `batch/weights count the samples, and their sum is ${weight}; weights are finite and at least 0`,
    );
  }
});

it("gives each objective's", async () => {
  const w = wave([3, 1], 0.3);
  const minimize = (name: "d" | "g") => ({
    params: { [name]: true },
    optimizer: adam({ learningRate: 0.1 }),
    loss: (weights: { d: Tensor; g: Tensor }, { x }: { x: Tensor }) =>
      reduceMean(mul(x, reduceSum(weights[name]))),
  });
  await using training = await trainer({
    backend: await reference(),
    params: { d: w, g: params().out },
    objectives: { d: minimize("d"), g: minimize("g") },
    precision: float32(),
  });
  const all = await training.evaluateAll(parts.map(({ x }) => ({ x })));
  const { d, g } = await training.evaluate({ x: whole.x });
  expect(all.d.loss).toBeCloseTo(d.loss, 6);
  expect(all.g.loss).toBeCloseTo(g.loss, 6);
  expect(all.g.samples).toBe(11);
});

function weighted() {
  return reference().then((backend) =>
    trainer({
      backend,
      params: { w: tensor(Float32Array.of(0), []) },
      loss: ({ w }, { x, weights }: { x: Tensor; weights: Tensor }) => {
        return div(reduceSum(mul(sub(x, w), weights)), reduceSum(weights));
      },
      optimizer: sgd({ learningRate: 0.1 }),
      precision: float32(),
    }),
  );
}
