import { inspect } from "node:util";
import { foldIn, key, mapTensors, type Tensor } from "@mp/graph";
import { cast, matMul, mul, reduceMean, reduceSum } from "@mp/graph/ops";
import { describe, expect, it } from "vitest";
import { castingPolicy } from "../../src/cast/policy.js";
import { chain } from "../../src/optim/chain.js";
import { clipByGlobalNorm } from "../../src/optim/clip.js";
import type { Schedule } from "../../src/optim/optimizer.js";
import { sgd } from "../../src/optim/sgd.js";
import { kahan, noMasterWeights } from "../../src/precision/master-weights.js";
import { mixedFloat16 } from "../../src/precision/presets.js";
import { batch, type SmallOptions, smallRun } from "../small-run.js";

const runOf = (loss: unknown, options: Partial<SmallOptions> = {}) =>
  smallRun({ loss: loss as SmallOptions["loss"], ...options });
type Weights = { readonly out: Tensor };

describe("what a newcomer gets wrong is told", () => {
  it("with the names that a batch has", async () => {
    const loss = ({ out }: Weights, { images }: { readonly images: Tensor }) =>
      reduceMean(matMul(images, out));
    const training = await runOf(loss);
    await expect(training.step(batch(0))).rejects.toThrow(
      /^MatMul: takes traced tensors, got undefined \(at .*telling\.test\.ts:\d+:\d+\); the batch has x, y$/,
    );
    await expect(training.evaluate({} as never)).rejects.toThrow(/got undefined.*; the batch is empty$/);
    const predict = (_: unknown, { images }: { readonly images?: Tensor }) => reduceSum(images as Tensor);
    await expect(training.predict(predict, batch(0) as never)).rejects.toThrow(
      /^ReduceSum: takes traced tensors, got undefined.*; the data has x, y$/,
    );
    await training.dispose();
  });

  it("where model state is given and never returned, once", async () => {
    const training = await runOf(({ out }: Weights) => reduceMean(out));
    for (const rows of [4, 3, 4]) await training.step(batch(0, rows));
    const received = training.warnings.filter(({ type }) => type === "state");
    expect(received).toMatchObject([
      { message: expect.stringMatching(/^loss: returns no modelState, so the one/) },
    ]);
    await training.dispose();
    const stateless = await runOf(({ out }: Weights) => reduceMean(out), { modelState: {} as never });
    await stateless.step(batch(0));
    expect(stateless.warnings.filter(({ type }) => type === "state")).toEqual([]);
    await stateless.dispose();
  });

  it("where a schedule computes with the integer that the step is", async () => {
    const schedules: readonly Schedule[] = [
      (step) => mul(step, 0.1),
      (step) => step,
      (step) => mul(step, cast(step, "f32")),
    ];
    for (const learningRate of schedules) {
      const training = smallRun({ optimizer: sgd({ learningRate }) }).then((run) => run.step(batch(0)));
      await expect(training).rejects.toThrow(/i32.*cast\(step, "f32"\)/);
    }
    const good = await smallRun({ optimizer: sgd({ learningRate: (step) => mul(cast(step, "f32"), 0.1) }) });
    expect(await good.step(batch(0))).toMatchObject({ applied: true });
    await good.dispose();
  });

  it("where a seed stands for a key", () => {
    expect(() => foldIn(42 as never, "a")).toThrow(
      "foldIn: takes a key such as key(42), got 42; a model's init takes one: model.init(key(42))",
    );
    expect(() => foldIn(undefined as never, "a")).toThrow(
      "foldIn: takes a key such as key(42), got undefined",
    );
    expect(() => key("a" as never)).toThrow('key: a seed must be an integer, got "a"');
  });

  it("where a policy names a scope that the loss has not, once", async () => {
    const policy = castingPolicy({ compute: "f16", scopes: { hiden: "f32" } });
    const training = await smallRun({ precision: { ...mixedFloat16(), policy } });
    for (const rows of [4, 3]) await training.step(batch(0, rows));
    const message = 'policy: no operator lies in scope "hiden"; did you mean hidden? the scopes are hidden';
    expect(training.warnings.filter((warning) => warning.message.startsWith("policy"))).toEqual([
      { type: "numerics", message },
    ]);
  });

  it.each<readonly [string, () => unknown, string]>([
    [
      "a batch in parts",
      async () => (await smallRun()).step(batch(0), batch(1)),
      "step: takes one batch, got 2; put",
    ],
    [
      "no parameters",
      () => smallRun({ params: {} as never }),
      "params: the tree holds no tensors; pass those of a",
    ],
    [
      "a list of parts",
      () => chain([sgd({ learningRate: 1 })] as never),
      "chain: takes its parts one by one",
    ],
    ["no dtype", () => kahan(undefined as never), 'kahan: takes "f16" or "bf16", got undefined'],
    ["a long name", () => noMasterWeights("float16" as never), 'got "float16"; did you mean f16?'],
    ["no limit", () => clipByGlobalNorm(0), "≥ 2^-40, finite in f32, got 0; leave it out for no clipping"],
    ["no clipping", () => smallRun({ clipNorm: 0 }), "trainer: clipNorm must be a number ≥ 2^-40"],
    [
      "host parameters",
      () => mapTensors((leaf) => leaf, [{ bias: batch(0).x }] as never),
      "mapTensors: 0/bias is a host tensor; takes traced tensors",
    ],
  ])("of %s", async (_, attempt, message) => {
    await expect((async () => attempt())()).rejects.toMatchObject({
      code: "MP_INVALID_ARGUMENT",
      message: expect.stringContaining(message) as string,
    });
  });

  it("of a number that is cast, a dtype by its long name, and a metric without a name", async () => {
    const wrong: readonly (readonly [unknown, string])[] = [
      [
        () => cast(70000 as never, "f16"),
        'Cast: takes traced tensors, got 70000; literal(70000, "f16") makes one',
      ],
      [({ out }: Weights) => cast(out, "float16" as never), 'got "float16"; did you mean f16?'],
      [
        ({ out }: Weights) => ({ loss: reduceMean(out), metrics: { "": reduceMean(out) } }),
        `the metric's name "" is empty`,
      ],
    ];
    for (const [loss, message] of wrong) {
      await expect((await runOf(loss)).step(batch(0))).rejects.toThrow(message);
    }
  });

  it("by printing a tensor as what it is", async () => {
    let printed = "";
    const training = await runOf(({ out }: Weights) => {
      printed = inspect({ out });
      return reduceMean(out);
    });
    await training.step(batch(0));
    expect(printed).toBe("{ out: Tensor f32[4, 1] }");
    await training.dispose();
  });
});
