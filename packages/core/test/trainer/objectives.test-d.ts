import { type Backend, type HostTensor, type Tensor, tensor } from "@mp/graph";
import { add, mul, reduceMean } from "@mp/graph/ops";
import { describe, expectTypeOf, it } from "vitest";
import { sgd } from "../../src/optim/sgd.js";
import type { LossContext, LossParts } from "../../src/train/definition/loss.js";
import type { Counters, StepResult } from "../../src/train/definition/result.js";
import { trainer } from "../../src/train/trainer.js";

declare const backend: Backend;
const x = tensor(Float32Array.of(1));
const common = { backend, params: { d: x, g: { w: x } } };
const optimizer = sgd({ learningRate: 1 });

describe("the types of objectives", () => {
  it("each loss gets the whole tree, and its results have its metrics", async () => {
    const training = await trainer({
      ...common,
      modelState: { mean: x },
      objectives: {
        d: {
          loss: ({ d, g }, { real }: { real: Tensor }, { modelState }) => {
            expectTypeOf(g.w).toEqualTypeOf<Tensor>();
            return { loss: reduceMean(add(mul(d, g.w), real)), metrics: { gap: real }, modelState };
          },
          params: { d: true },
          optimizer,
        },
        g: { loss: ({ d, g }) => reduceMean(mul(d, g.w)), params: { g: { w: true } }, optimizer },
      },
    });
    const result = await training.step({ real: x });
    expectTypeOf(result.d).toEqualTypeOf<StepResult<"gap">>();
    expectTypeOf(result.g).toEqualTypeOf<StepResult<never>>();
    // @ts-expect-error no such objective
    result.h;
    // @ts-expect-error no such tensor in the batch
    await training.step({ fake: x });
    await training.fit([{ real: x }], {
      onStep: ({ d, step }) => {
        expectTypeOf(d.metrics.gap + step).toEqualTypeOf<number>();
      },
    });
    expectTypeOf((await training.counters()).g).toEqualTypeOf<Counters>();
    expectTypeOf((await training.evaluate({ real: x })).d.modelState.mean).toEqualTypeOf<HostTensor<"f32">>();
    await training.diagnose([{ real: x }], { scale: { d: 2 } });
    // @ts-expect-error no such objective
    await training.diagnose([{ real: x }], { scale: { h: 2 } });
  });

  it("a batch that no loss declares is any named tensors", async () => {
    const training = await trainer({
      ...common,
      objectives: { d: { loss: ({ d }, { x }) => reduceMean(add(d, x)), params: { d: true }, optimizer } },
    });
    await training.step({ x });
    await training.step({ images: x });
    // @ts-expect-error numbers are no tensors
    await training.step({ x: 1 });
  });

  it("losses with types of their own say what batch they take", async () => {
    type Weights = { readonly d: Tensor; readonly g: { readonly w: Tensor } };
    const d = ({ d }: Weights, { real }: { readonly real: Tensor }): Tensor => reduceMean(mul(d, real));
    const g = ({ g }: Weights, _: { readonly real: Tensor }, { step }: LossContext): LossParts => ({
      loss: reduceMean(add(g.w, step)),
    });
    const training = await trainer({
      ...common,
      objectives: {
        d: { loss: d, params: { d: true }, optimizer },
        g: { loss: g, params: { g: true }, optimizer },
      },
    });
    await training.step({ real: x });
    // @ts-expect-error no such tensor in the batch
    await training.step({ x });
  });

  it("masks and losses fit the parameters", async () => {
    await trainer({
      ...common,
      objectives: {
        // @ts-expect-error no such parameter
        d: { loss: ({ d }) => reduceMean(d), params: { h: true }, optimizer },
        // @ts-expect-error no such parameter
        g: { loss: ({ h }) => reduceMean(h), params: { g: true }, optimizer },
      },
    });
    // @ts-expect-error an objective has an optimizer
    await trainer({ ...common, objectives: { d: { loss: ({ d }) => reduceMean(d), params: { d: true } } } });
  });
});
