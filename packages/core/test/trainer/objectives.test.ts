// Several losses over one tree of parameters: each with its own optimizer, scaler, skips and retries.

import { type HostTensor, isHostTensor, leavesOf, type Tensor, tensor } from "@mp/graph";
import { add, exp, mul, randomUniform, reduceMean, reduceSum, sub } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { adam } from "../../src/optim/adam.js";
import { sgd } from "../../src/optim/sgd.js";
import { dynamicLossScale, type LossScaler, staticLossScale } from "../../src/precision/loss-scaler.js";
import { kahan } from "../../src/precision/master-weights.js";
import { bfloat16, float32, type PrecisionChoice } from "../../src/precision/presets.js";
import { loadParameters } from "../../src/train/checkpoint/load-parameters.js";
import type { TrainingWarning } from "../../src/train/definition/warning.js";
import { trainer } from "../../src/train/trainer.js";

const row = (...values: number[]): HostTensor<"f32"> => tensor(Float32Array.from(values), [values.length]);
const params = () => ({ d: { w: row(0.5, -0.25) }, g: { w: row(1, 2), fixed: row(3, 4) } });
const modelState = () => ({ real: row(0), fake: row(0) });

interface Options {
  readonly precision?: PrecisionChoice;
  readonly scalers?: { readonly d?: LossScaler; readonly g?: LossScaler };
  readonly accumulate?: number;
  readonly onOverflow?: "skip" | "retry";
  readonly maxConsecutiveSkips?: number;
  readonly warnings?: TrainingWarning[];
}

/** d learns to tell x from what g makes of noise; `hurt` overflows what it is added to when it is large. */
const start = async ({ scalers = {}, warnings, ...options }: Options = {}) =>
  trainer({
    backend: await reference(),
    precision: float32(),
    ...options,
    params: params(),
    modelState: modelState(),
    frozen: { g: { fixed: true } },
    onWarning: (warning) => warnings?.push(warning),
    objectives: {
      d: {
        loss: (
          { d, g },
          { x, hurt }: { x: Tensor; hurt: { readonly d: Tensor; readonly g: Tensor } },
          { key, modelState },
        ) => {
          const fake = add(mul(randomUniform(key, [2]), g.w), g.fixed);
          const gap = sub(mul(x, d.w), mul(fake, d.w));
          return {
            loss: add(reduceMean(mul(gap, gap)), reduceSum(mul(exp(hurt.d), d.w))),
            metrics: { gap: reduceMean(gap) },
            modelState: { ...modelState, real: add(modelState.real, 1) },
          };
        },
        params: { d: true },
        optimizer: adam({ learningRate: 0.05 }),
        ...(scalers.d === undefined ? {} : { scaler: scalers.d }),
      },
      g: {
        loss: ({ d, g }, { hurt }, { key, modelState }) => {
          const fake = add(mul(randomUniform(key, [2]), g.w), g.fixed);
          return {
            loss: add(reduceMean(mul(fake, d.w)), reduceSum(mul(exp(hurt.g), g.w))),
            modelState: { ...modelState, fake: add(modelState.fake, modelState.real) },
          };
        },
        params: { g: true },
        optimizer: sgd({ learningRate: 0.1 }),
        clipNorm: 0.5,
        ...(scalers.g === undefined ? {} : { scaler: scalers.g }),
      },
    },
  });
type Training = Awaited<ReturnType<typeof start>>;

const FINE = -100;
const HUGE = 100;
const batch = (step: number, hurt: { readonly d?: number; readonly g?: number } = {}) => ({
  x: row(Math.sin(step), Math.cos(step)),
  hurt: { d: row(hurt.d ?? FINE, FINE), g: row(hurt.g ?? FINE, FINE) },
});
const values = (tree: unknown): readonly (readonly [string, number[]])[] =>
  leavesOf(tree, isHostTensor, "tree").map(([path, { data }]) => [path, Array.from(data as Float32Array)]);
const stateOf = async (training: Training) => training.saveBytes({ cursor: 0 });

describe("two objectives", () => {
  it("train their own parameters in order, and give their results by name", async () => {
    await using training = await start();
    const before = await training.parameters();
    const { d, g } = await training.step(batch(0));
    expect([d.applied, g.applied]).toEqual([true, true]);
    expect(Object.keys(d.metrics)).toEqual(["gap"]);
    expect(g.metrics).toEqual({});
    const after = await training.parameters();
    expect(after.d.w).not.toEqual(before.d.w);
    expect(after.g.w).not.toEqual(before.g.w);
    expect(after.g.fixed).toEqual(before.g.fixed);
    // g saw the model state that d had committed.
    expect(values(await training.modelState())).toEqual([
      ["fake", [1]],
      ["real", [1]],
    ]);
    const counters = await training.counters();
    expect(counters.d).toEqual({ applied: 1, iteration: 1, skipped: 0, scale: 1 });
    expect(counters.g).toEqual(counters.d);
  });

  it("a later one sees the parameters that an earlier one committed", async () => {
    const loss = ({ a }: { a: Tensor }) => reduceSum(a);
    const run = async (order: "ab" | "ba") => {
      const one = { loss, params: { a: true }, optimizer: sgd({ learningRate: 1 }) };
      const two = {
        loss: ({ a, b }: { a: Tensor; b: Tensor }) => reduceSum(mul(a, b)),
        params: { b: true },
        optimizer: sgd({ learningRate: 1 }),
      };
      await using training = await trainer({
        backend: await reference(),
        precision: float32(),
        params: { a: row(5), b: row(1) },
        objectives: order === "ab" ? { one, two } : { two, one },
      });
      await training.step({ x: row(0) });
      return values(await training.parameters());
    };
    expect(await run("ab")).toEqual([
      ["a", [4]],
      ["b", [-3]],
    ]);
    expect(await run("ba")).toEqual([
      ["a", [4]],
      ["b", [-4]],
    ]);
  });

  it("one skips without the other, and only its own scale backs off", async () => {
    const dynamic = (initialScale: number) => dynamicLossScale({ initialScale, growthInterval: 100 });
    await using training = await start({ scalers: { d: dynamic(1024), g: dynamic(64) } });
    const before = await training.parameters();
    const first = await training.step(batch(0, { d: HUGE }));
    expect([first.d.applied, first.g.applied]).toEqual([false, true]);
    const middle = await training.parameters();
    expect(middle.d).toEqual(before.d);
    expect(middle.g.w).not.toEqual(before.g.w);
    const second = await training.step(batch(1, { g: HUGE }));
    expect([second.d.applied, second.g.applied]).toEqual([true, false]);
    expect([second.d.scale, second.g.scale]).toEqual([512, 64]);
    const after = await training.parameters();
    expect(after.d).not.toEqual(middle.d);
    expect(after.g).toEqual(middle.g);
    expect(await training.counters()).toEqual({
      d: { applied: 1, iteration: 2, skipped: 1, scale: 512 },
      g: { applied: 1, iteration: 2, skipped: 1, scale: 32 },
    });
    // What d's skipped step would have written of the model state is lost, what g's wrote is not.
    expect(values(await training.modelState())).toEqual([
      ["fake", [0]],
      ["real", [1]],
    ]);
  });

  it("one retries without the other", async () => {
    const scaler = dynamicLossScale({ initialScale: 2 ** 120, maxScale: 2 ** 120 });
    await using training = await start({ onOverflow: "retry", scalers: { g: scaler } });
    // exp(20) · 2^120 overflows f32.
    const { d, g } = await training.step(batch(0, { g: 20 }));
    expect([d.retries, d.applied, g.applied]).toEqual([0, true, true]);
    expect(g.retries).toBeGreaterThan(5);
    expect((await training.counters()).d.iteration).toBe(1);
  });

  it("draw different numbers", async () => {
    const drawn = (_: unknown, __: unknown, { key }: { key: Parameters<typeof randomUniform>[0] }) =>
      reduceSum(randomUniform(key, [1]));
    await using training = await trainer({
      backend: await reference(),
      precision: float32(),
      params: { a: row(0), b: row(0) },
      objectives: {
        a: {
          loss: ({ a }, b, c) => add(reduceSum(a), drawn(a, b, c)),
          params: { a: true },
          optimizer: sgd({ learningRate: 0.1 }),
        },
        b: {
          loss: ({ b }, x, c) => add(reduceSum(b), drawn(b, x, c)),
          params: { b: true },
          optimizer: sgd({ learningRate: 0.1 }),
        },
      },
    });
    const { a, b } = await training.step({ x: row(0) });
    expect(a.loss).not.toBe(b.loss);
  });

  it("accumulate: as one batch of both", async () => {
    await using training = await start({ accumulate: 2 });
    const results = await training.step(batch(0), batch(1));
    expect(values(await training.modelState())).toEqual([
      ["fake", [4]],
      ["real", [2]],
    ]);
    const skipped = await training.step(batch(2), batch(3, { d: HUGE }));
    expect([results.d.applied, skipped.d.applied, skipped.g.applied]).toEqual([true, false, true]);
    expect(values(await training.modelState())).toEqual([
      ["fake", [8]],
      ["real", [2]],
    ]);
    // Neither leaves anything in the window of the other.
    const { d } = await training.step(batch(4), batch(5));
    expect(d.applied).toBe(true);
  });

  const precisions: readonly (readonly [string, Options])[] = [
    ["float32", {}],
    ["kahan, accumulated", { precision: { ...bfloat16(), masterWeights: kahan("bf16") }, accumulate: 2 }],
    ["scaled", { scalers: { d: dynamicLossScale({ growthInterval: 2 }), g: staticLossScale(64) } }],
  ];
  it.each(precisions)("resume with the same bits: %s", async (_name, options) => {
    const accumulate = options.accumulate ?? 1;
    const make = async (training: Training, from: number, to: number) => {
      const results: unknown[] = [];
      for (let step = from; step < to; step++) {
        const micro = Array.from({ length: accumulate }, (_, index) =>
          batch(step * accumulate + index, step === 2 ? { d: HUGE } : {}),
        );
        results.push(await training.step(...micro));
      }
      return results;
    };
    await using straight = await start(options);
    await make(straight, 0, 3);
    const bytes = await straight.saveBytes({ cursor: 3 });
    const rest = await make(straight, 3, 6);
    await using resumed = await start(options);
    await make(resumed, 9, 10);
    expect(await resumed.loadBytes(bytes)).toBe(3);
    expect(await make(resumed, 3, 6)).toEqual(rest);
    expect(await stateOf(resumed)).toEqual(await stateOf(straight));
    const loaded = await loadParameters(bytes, { params: params(), modelState: modelState() });
    await using fresh = await start(options);
    await fresh.loadBytes(bytes);
    expect(values(loaded.params)).toEqual(values(await fresh.parameters()));
    expect(values(loaded.modelState)).toEqual(values(await fresh.modelState()));
  });

  it("fit, steps, evaluate and predict know them", async () => {
    await using training = await start();
    const data = [batch(0), batch(1), batch(2)];
    const losses: number[] = [];
    const ended = await training.fit(data, {
      onStep: ({ d, g, step, batches }) => {
        losses.push(d.loss, g.loss);
        expect(batches).toEqual([data[step - 1]]);
        return step === 2 ? "stop" : undefined;
      },
    });
    expect([ended, losses.length]).toEqual([{ steps: 2, made: 2, ended: "stopped" }, 4]);
    const seen: number[] = [];
    for await (const { step, g } of training.steps(data)) seen.push(step, g.retries);
    expect(seen).toEqual([3, 0]);
    const { d, g } = await training.evaluate(batch(0));
    expect([Number.isFinite(d.loss), Number.isFinite(d.metrics.gap), Number.isFinite(g.loss)]).toEqual([
      true,
      true,
      true,
    ]);
    const { sum } = await training.predict((weights) => ({ sum: add(weights.d.w, weights.g.w) }), {});
    const now = await training.parameters();
    expect(Array.from(sum.data as Float32Array)).toEqual(
      Array.from(now.d.w.data, (value, at) => Math.fround(value + (now.g.w.data[at] as number))),
    );
  });

  it("diagnose names the objective that is not finite", async () => {
    await using training = await start();
    const hurting = batch(0, { g: HUGE });
    const found = await training.diagnose([hurting]);
    expect([found.d, found.g?.cause]).toEqual([undefined, "model"]);
    const { g } = await training.step(hurting);
    const past = await training.diagnose([hurting], { scale: { g: g.scale } });
    expect(past.g?.op).toBe("Exp");
    await expect(training.diagnose([hurting], { scale: 1 as never })).rejects.toThrow(
      /scale must be an object with those of a step's results: { d, g }, got 1/,
    );
    await expect(training.diagnose([hurting], { scale: { x: 1 } as never })).rejects.toThrow(/{ d, g }/);
  });

  it("graph, explain, report and profile are given for each", async () => {
    await using training = await start();
    const graphs = training.graph(batch(0));
    const outputs = graphs.d.outputs.map(({ name }) => name);
    expect(outputs).toContain("metrics/gap");
    expect(outputs.filter((name) => name.startsWith("next/")).sort()).not.toContain("next/iteration");
    expect(graphs.g.outputs.map(({ name }) => name)).toContain("next/iteration");
    // Neither is bound to what only the other has.
    expect(
      graphs.g.inputs.map(({ name }) => name).filter((name) => /optimizer\/d|scaler\/d/.test(name)),
    ).toEqual([]);
    expect(training.explain(batch(0)).g.nodes.length).toBeGreaterThan(0);
    const report = await training.precisionReport(batch(0));
    expect(report.d.gradients.largest).toBeGreaterThan(0);
  });

  it("too many skips of one end the run and name it, after the others made their step", async () => {
    await using training = await start({ maxConsecutiveSkips: 1 });
    await training.step(batch(0, { d: HUGE }));
    await expect(training.step(batch(0, { d: HUGE }))).rejects.toThrow(/step of d: 2 steps in a row .* Exp/);
    expect((await training.counters()).g).toMatchObject({ applied: 2, iteration: 2 });
  });

  it("nothing is committed where a later loss cannot be traced, and the error names it", async () => {
    await using training = await trainer({
      backend: await reference(),
      precision: float32(),
      params: { a: row(0), b: row(0, 1) },
      objectives: {
        a: { loss: ({ a }) => reduceSum(a), params: { a: true }, optimizer: sgd({ learningRate: 1 }) },
        b: { loss: ({ b }) => b, params: { b: true }, optimizer: sgd({ learningRate: 1 }) },
      },
    });
    await expect(training.step({ x: row(0) })).rejects.toThrow(/objective b: the loss must be a scalar/);
    expect((await training.counters()).a.applied).toBe(0);
  });
});

describe("what objectives may not be", () => {
  const loss = ({ a }: { a: Tensor }) => reduceSum(a);
  const optimizer = sgd({ learningRate: 1 });
  const made = async (options: object): Promise<unknown> =>
    trainer({ backend: await reference(), params: { a: row(0), b: row(0) }, ...options } as never);
  const a = { loss, optimizer, params: { a: true } };
  it.each<readonly [string, object, RegExp]>([
    ["none", { objectives: {} }, /objectives: must be an object of losses by name/],
    ["a list", { objectives: [a] }, /objectives: must be an object of losses by name/],
    ["of a taken name", { objectives: { step: a } }, /the name "step" is a property of a step of fit/],
    ["of a name with a slash", { objectives: { "a/b": a } }, /the name "a\/b" contains a slash/],
    [
      "two of one parameter",
      { objectives: { one: a, two: a } },
      /one and two both train a; .* add their losses/,
    ],
    ["without parameters", { objectives: { one: { loss, optimizer } } }, /one: params: names no parameter/],
    ["of frozen ones", { objectives: { one: a }, frozen: { a: true } }, /one: params: names no parameter/],
    [
      "of unknown ones",
      { objectives: { one: { ...a, params: { c: true } } } },
      /params: the parameters have no c/,
    ],
    ["without an optimizer", { objectives: { one: { loss, params: { a: true } } } }, /one: optimizer is/],
    [
      "with a factory as scaler",
      { objectives: { one: { ...a, scaler: dynamicLossScale } } },
      /one: scaler is/,
    ],
    [
      "next to a loss",
      { objectives: { one: a }, loss },
      /no option "loss"; with objectives each has its own/,
    ],
  ])("%s", async (_name, options, message) => {
    await expect(made(options)).rejects.toThrow(message);
  });

  it("files of other objectives do not fit", async () => {
    const named = async (name: string) =>
      trainer({
        backend: await reference(),
        precision: float32(),
        params: { a: row(0) },
        objectives: {
          [name]: { loss: ({ a }: { a: Tensor }) => reduceSum(a), params: { a: true }, optimizer },
        },
      });
    await using one = await named("one");
    await using two = await named("two");
    await expect(two.loadBytes(await one.saveBytes())).rejects.toThrow(
      /does not fit: .*applied\/two is missing.*; this run has objectives \["two"\] instead of \["one"\]/,
    );
  });
});

it("a warning names its objective; model state that one loss leaves to the other is none", async () => {
  const warnings: TrainingWarning[] = [];
  await using training = await trainer({
    backend: await reference(),
    precision: float32(),
    params: { a: row(0), b: row(0), c: row(0) },
    modelState: { seen: row(0) },
    onWarning: (warning) => warnings.push(warning),
    objectives: {
      one: {
        loss: ({ a }, _, { modelState }) => ({ loss: reduceSum(a), modelState }),
        params: { a: true, c: true },
        optimizer: sgd({ learningRate: 1 }),
      },
      two: { loss: ({ b }) => reduceSum(b), params: { b: true }, optimizer: sgd({ learningRate: 1 }) },
    },
  });
  await training.step({ x: row(0) });
  expect(warnings.map(({ message }) => message)).toEqual([
    expect.stringMatching(/^objective one: loss: c takes no part in the gradient/),
  ]);
});
