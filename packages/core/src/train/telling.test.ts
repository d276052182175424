import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { batch, type SmallOptions, smallRun } from "../../test/small-run.js";
import type { Schedule } from "../optim/optimizer.js";
import { sgd } from "../optim/sgd.js";
import { cast, mul } from "../trace/ops/elementwise.js";
import { matMul } from "../trace/ops/matrix.js";
import { reduceMean, reduceSum } from "../trace/ops/reduce.js";
import { fold, key } from "../trace/random.js";
import type { Tensor } from "../trace/tensor.js";

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
    const told = training.warnings.filter(({ type }) => type === "state");
    expect(told).toMatchObject([
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
    expect(() => fold(42 as never, "a")).toThrow("fold: takes a key such as key(42), got 42");
    expect(() => fold(undefined as never, "a")).toThrow("fold: takes a key such as key(42), got undefined");
    expect(() => key("a" as never)).toThrow('key: a seed is an integer, got "a"');
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
