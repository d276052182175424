import { type Backend, type HostTensor, type Tensor, tensor } from "@mp/graph";
import { add, literal, matMul, mul, reduceMean } from "@mp/graph/ops";
import { describe, expect, expectTypeOf, it } from "vitest";
import { adam } from "../../src/optim/adam.js";
import { chain } from "../../src/optim/chain.js";
import { clipByValue } from "../../src/optim/clip.js";
import type { GradientTransformation, Optimizer } from "../../src/optim/optimizer.js";
import { sgd } from "../../src/optim/sgd.js";
import { weightDecay } from "../../src/optim/weight-decay.js";
import { dynamicLossScale, type LossScaler } from "../../src/precision/loss-scaler.js";
import { kahan } from "../../src/precision/master-weights.js";
import { mixedFloat16, type Precision } from "../../src/precision/presets.js";
import type { FitCallback } from "../../src/train/callbacks/callback.js";
import type { AnyBatch, LossContext, Traced } from "../../src/train/definition/loss.js";
import type { StepResult } from "../../src/train/definition/result.js";
import type { StreamedMetric } from "../../src/train/metrics/streamed-metric.js";
import { trainer } from "../../src/train/trainer.js";

declare const backend: Backend;
declare const count: Tensor;
const params = { layers: [{ w: tensor(Float32Array.of(1)) }, {}] as const, b: tensor(Float32Array.of(1)) };
const common = { backend, params, optimizer: sgd({ learningRate: 1 }) };
const x = tensor(Float32Array.of(1));

describe("the trainer's types", () => {
  it("x and y need no annotation, and any named data may be fed then", async () => {
    const training = await trainer({
      ...common,
      loss: (weights, { x, y }, context) => {
        expectTypeOf(weights.layers[0].w).toEqualTypeOf<Tensor>();
        expectTypeOf(x).toEqualTypeOf<Tensor>();
        expectTypeOf(context.step).toEqualTypeOf<Tensor>();
        return reduceMean(add(matMul(x, weights.b), y));
      },
    });
    const result = await training.step({ x, y: x });
    expectTypeOf(result).toEqualTypeOf<StepResult<never>>();
    await training.step({ x });
    await training.step({ ids: x });
    // @ts-expect-error numbers are no tensors
    await training.step({ x: [1] });
    // @ts-expect-error a batch is named tensors
    await training.step(x);
  });

  it("an annotated batch is asked for as it is", async () => {
    const training = await trainer({
      ...common,
      loss: (_weights, { ids, more: [mask] }: { ids: Tensor; more: readonly [Tensor] }) =>
        reduceMean(mul(ids, mask)),
    });
    await training.step({ ids: x, more: [x] });
    // @ts-expect-error more is missing
    await training.step({ ids: x });
    // @ts-expect-error not an array
    await training.evaluate({ ids: x, more: x });
    await training.fit([{ ids: x, more: [x] }]);
    // @ts-expect-error data of another structure
    await training.fit([{ x }]);
    for await (const step of training.steps([{ ids: x, more: [x] }])) {
      expectTypeOf(step).toExtend<StepResult<never>>();
      expectTypeOf(step.batches).toExtend<readonly { readonly ids: unknown }[]>();
    }
    const stopsEarly: FitCallback = { onStep: ({ loss }) => (loss < 0.1 ? "stop" : undefined) };
    const looks: FitCallback<never, { readonly ids: unknown }> = {
      onStep: async ({ batches }) => void batches,
    };
    await training.fit([{ ids: x, more: [x] }], {
      callbacks: [stopsEarly, looks, { onEnd: ({ ended }) => void ended }],
    });
    const most: StreamedMetric<string> = { sums: { count }, result: () => "x" };
    await training.fit([{ ids: x, more: [x] }], {
      validation: { data: [{ ids: x, more: [x] }], metrics: () => ({ most }) },
      callbacks: [
        stopsEarly,
        {
          onValidation: ({ metrics }) =>
            void expectTypeOf(metrics).toEqualTypeOf<{ readonly most: string }>(),
        },
      ],
    });
    // @ts-expect-error no such function
    await training.fit([{ ids: x, more: [x] }], { callbacks: [{ onEpochEnd: () => {} }] });
    // @ts-expect-error only "stop" means something
    await training.fit([{ ids: x, more: [x] }], { onStep: () => true });
  });

  it("parameters come back in the structure they went in", async () => {
    const training = await trainer({ ...common, loss: ({ b }) => reduceMean(b) });
    const now = await training.parameters();
    expectTypeOf(now.layers[0].w).toEqualTypeOf<HostTensor<"f32">>();
    expectTypeOf(now).toEqualTypeOf<typeof params>();
    const { y } = await training.predict(({ b }, { x }: { x: Tensor }) => ({ y: add(b, x) }), { x });
    expectTypeOf(y).toEqualTypeOf<HostTensor>();
  });

  it("the model state given is the one that the loss gets and returns", async () => {
    const training = await trainer({
      ...common,
      modelState: { mean: tensor(Float32Array.of(0)) },
      loss: ({ b }, { x }, { modelState: { mean } }) => {
        expectTypeOf(mean).toEqualTypeOf<Tensor>();
        return { loss: reduceMean(mul(b, x)), modelState: { mean: add(mean, 1) } };
      },
    });
    expectTypeOf((await training.modelState()).mean).toEqualTypeOf<HostTensor<"f32">>();
    await training.evaluate({ x }, { modelState: { mean: x } });
    // @ts-expect-error no such state
    await training.evaluate({ x }, { modelState: { variance: x } });
    await trainer({
      ...common,
      modelState: { mean: x },
      // @ts-expect-error another model state
      loss: ({ b }) => ({ loss: reduceMean(b), modelState: { other: b } }),
    });
  });

  it("metrics are known by name", async () => {
    const training = await trainer({
      ...common,
      loss: ({ b }, { x }) => ({ loss: reduceMean(b), metrics: { error: reduceMean(x), norm: b } }),
    });
    const { metrics } = await training.step({ x });
    expectTypeOf(metrics).toEqualTypeOf<Readonly<Record<"error" | "norm", number>>>();
    expectTypeOf(metrics.error).toEqualTypeOf<number>();
    await training.fit([{ x }], {
      onStep: ({ metrics, step }) => {
        expectTypeOf(metrics.norm + step).toEqualTypeOf<number>();
      },
    });
  });

  it("a mask of frozen parameters lies over them", async () => {
    const loss = ({ b }: { b: Tensor }) => reduceMean(b);
    await trainer({ ...common, loss, frozen: { layers: true } });
    await trainer({ ...common, loss, frozen: { layers: [{ w: true }] } });
    // @ts-expect-error no such parameter
    await trainer({ ...common, loss, frozen: { bias: true } });
  });

  it("what a loss may not be", async () => {
    // @ts-expect-error a number
    await trainer({ ...common, loss: () => 1 });
    // @ts-expect-error async
    await trainer({ ...common, loss: async ({ b }) => reduceMean(b) });
    // @ts-expect-error no such parameter
    await trainer({ ...common, loss: ({ c }) => reduceMean(c) });
  });

  it("a loss of its own name may say the types of its parameters, batch and context", async () => {
    function named(weights: Traced<typeof params>, batch: { x: Tensor }, { step }: LossContext): Tensor {
      return reduceMean(add(matMul(weights.b, batch.x), step));
    }
    const training = await trainer({ ...common, loss: named });
    await training.step({ x });
    // @ts-expect-error y is not of the batch
    await training.step({ x, y: x });
    type State = { readonly mean: Tensor };
    const counting = ({ b }: { b: Tensor }, _: AnyBatch, { modelState }: LossContext<State>) => ({
      loss: reduceMean(b),
      modelState: { mean: add(modelState.mean, 1) },
    });
    await trainer({ ...common, modelState: { mean: x }, loss: counting });
    // @ts-expect-error the loss wants a state, and there is none
    await trainer({ ...common, loss: counting });
    await trainer({
      ...common,
      // @ts-expect-error no such parameter
      loss: ({ c }: { c: Tensor }, _: AnyBatch, { step }: LossContext) => reduceMean(add(c, step)),
    });
  });

  it("a batch may be an interface, whether the loss says its type or not", async () => {
    interface Named {
      readonly x: HostTensor;
      readonly y: HostTensor<"i32">;
    }
    interface Words {
      readonly ids: HostTensor;
    }
    interface Sometimes extends Words {
      readonly extra?: HostTensor;
    }
    interface NoTensors {
      readonly x: number[];
    }
    const named: Named = { x, y: tensor(Int32Array.of(1)) };
    const words: Words = { ids: x };
    const noTensors: NoTensors = { x: [1] };
    async function* stream(): AsyncGenerator<Named> {
      yield named;
    }
    const any = await trainer({ ...common, loss: ({ b }, { x }) => reduceMean(add(b, x)) });
    await any.step(named);
    await any.step(words);
    await any.evaluate(named);
    any.explain(words);
    await any.fit([named]);
    await any.fit([words as Sometimes]);
    await any.fit(stream(), {
      onStep: ({ batches }) => void expectTypeOf(batches).toEqualTypeOf<readonly Named[]>(),
    });
    for await (const { epoch, batches } of any.steps(stream())) {
      expectTypeOf(epoch).toEqualTypeOf<number>();
      expectTypeOf(batches).toEqualTypeOf<readonly Named[]>();
    }
    // @ts-expect-error numbers are no tensors
    await any.step(noTensors);
    // @ts-expect-error nor in data
    await any.fit([noTensors]);
    // @ts-expect-error a number is no batch
    await any.fit([3]);

    interface Batch {
      readonly x: Tensor;
      readonly y: Tensor;
    }
    const typed = await trainer({ ...common, loss: ({ b }, batch: Batch) => reduceMean(add(b, batch.x)) });
    await typed.step(named);
    await typed.fit(stream(), { onStep: ({ batches: [own] }) => void own?.y.data.length });
    await typed.fit([named], { callbacks: [{ onStep: ({ batches: [own] }) => void own?.x.data.length }] });
    // @ts-expect-error x and y are missing
    await typed.step(words);
    // @ts-expect-error z is not of the batch
    await typed.step({ x, y: x, z: x });
  });

  it("a chain is gradient transformations and then one optimizer", async () => {
    const descent = sgd({ learningRate: 1 });
    expectTypeOf(chain(clipByValue(1), weightDecay(0.1), descent)).toExtend<Optimizer>();
    chain(clipByValue(1), chain(weightDecay(0.1), descent));
    const halving: GradientTransformation = { ...weightDecay(0), kind: "gradient", name: "halving" };
    chain(halving, descent);
    // @ts-expect-error no optimizer
    expect(() => chain(clipByValue(1))).toThrow();
    // @ts-expect-error the optimizer stands last
    expect(() => chain(descent, weightDecay(0.1))).toThrow();
    // @ts-expect-error two optimizers
    expect(() => chain(descent, descent)).toThrow();
    const loss = ({ b }: { b: Tensor }) => reduceMean(b);
    // @ts-expect-error gradients and no steps
    await trainer({ ...common, loss, optimizer: clipByValue(1) });
  });

  it("parts of one's own need no cast, whatever their state", async () => {
    const lossScaler = {
      name: "mine",
      init: () => ({ scale: literal(8), count: [literal(0, "i32")] as const }),
      scale: (state: { readonly scale: Tensor }) => state.scale,
      update: <S>(state: S) => state,
    };
    const precision: Precision = { ...mixedFloat16(), lossScaler, masterWeights: kahan("f16") };
    const scaler: LossScaler = dynamicLossScale();
    const training = await trainer({
      ...common,
      optimizer: adam({ learningRate: (step) => add(step, 1) }),
      precision: { ...precision, lossScaler: scaler },
      loss: ({ b }) => reduceMean(b),
    });
    expectTypeOf(training.precision).toEqualTypeOf<Precision>();
  });
});
