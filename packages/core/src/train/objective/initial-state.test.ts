// Tests that a run refuses initial values with which every step would be skipped.

import { encodeArray, type HostTensor, type Tensor, tensor } from "@mp/graph";
import { add, cast, constant, maximum, minimum, mul, reduceMax, reduceMin, reduceSum } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import type { Optimizer } from "../../optim/optimizer.js";
import { sgd } from "../../optim/sgd.js";
import { f32Master, noMasterWeights } from "../../precision/master-weights.js";
import { float32, mixedFloat16 } from "../../precision/presets.js";
import type { TrainerOptions } from "../options.js";
import type { Trainer } from "../run/trainer-interface.js";
import { trainer } from "../trainer.js";

type Parameters = { readonly inner: { readonly w: HostTensor<"f32"> }; readonly mask: HostTensor<"f32"> };
type Model = { readonly kept: HostTensor };
type Options = TrainerOptions<Parameters, { readonly x: Tensor }, Model>;

const vector = (...numbers: number[]): HostTensor<"f32"> => tensor(Float32Array.from(numbers));
async function start(options: Partial<Options>): Promise<Trainer<Parameters, { readonly x: Tensor }, Model>> {
  return trainer({
    backend: await reference(),
    params: { inner: { w: vector(1, 2) }, mask: vector(0, 0) },
    modelState: { kept: vector(0) },
    loss: ({ inner, mask }, { x }, { modelState }) => ({
      loss: reduceSum(mul(mul(inner.w, maximum(mask, -1)), x)),
      modelState,
    }),
    optimizer: sgd({ learningRate: 1 }),
    precision: float32(),
    onWarning: () => undefined,
    ...options,
  });
}
const params = (w: HostTensor<"f32">, mask = vector(0, 0)): Partial<Options> => ({
  params: { inner: { w }, mask },
});

/** An optimizer whose state is the largest update so far, starting from `first`. */
const startingAt = (first: number): Optimizer => {
  const recording: Optimizer<{ readonly largest: Tensor }> = {
    name: "recording",
    init: () => ({ largest: constant(tensor(Float32Array.of(first), [])) }),
    update: (gradients, { largest }) => ({
      updates: gradients,
      state: { largest: maximum(largest, reduceMax((gradients as { readonly mask: Tensor }).mask)) },
    }),
  };
  return recording as unknown as Optimizer;
};

describe("a run is not started from", () => {
  it.each<readonly [string, Partial<Options>, string]>([
    [
      "a parameter that is NaN",
      params(vector(1, Number.NaN)),
      "params at inner/w is NaN at element 1; every step would be skipped",
    ],
    [
      "one that is infinite",
      params(vector(Number.NEGATIVE_INFINITY)),
      "params at inner/w is -Infinity; every step would be skipped",
    ],
    [
      "model state that is NaN",
      { modelState: { kept: vector(0, Number.NaN) } },
      "modelState at kept is NaN at element 1; every step would be skipped; start from finite numbers",
    ],
    [
      "model state in eighths that is NaN",
      { modelState: { kept: tensor(encodeArray("f8e4m3", Float32Array.of(1, Number.NaN)), [2], "f8e4m3") } },
      "modelState at kept is NaN at element 1",
    ],
    [
      "a parameter that its half cannot hold",
      { ...params(vector(70_000)), precision: { ...mixedFloat16(), masterWeights: noMasterWeights("f16") } },
      "initial state at master/inner/w is Infinity; master weights none(f16) cannot hold the parameter",
    ],
    [
      "an optimizer's NaN",
      { optimizer: startingAt(Number.NaN) },
      "initial state at optimizer/largest is NaN; optimizer recording starts from it; let its init give numbers, or turn checkNewParameters off",
    ],
    [
      "a frozen NaN",
      { ...params(vector(1, 2), vector(Number.NaN, 0)), frozen: { mask: true } },
      "params at mask is NaN at element 0",
    ],
  ])("%s", async (_name, options, message) => {
    const starting = start(options);
    await expect(starting).rejects.toThrow(message);
    await expect(starting).rejects.toMatchObject({ code: "MP_NON_FINITE" });
  });
});

describe("a run may be started from", () => {
  it("a frozen mask of -∞", async () => {
    const training = await start({
      ...params(vector(1, 2), vector(Number.NEGATIVE_INFINITY, 0)),
      frozen: { mask: true },
    });
    expect((await training.step({ x: vector(1, 1) })).applied).toBe(true);
    expect((await training.parameters()).inner.w.data).toEqual(Float32Array.of(2, 2));
  });

  it("an infinity that the first step takes away", async () => {
    const training = await start({
      optimizer: startingAt(Number.NEGATIVE_INFINITY),
      modelState: { kept: vector(Number.POSITIVE_INFINITY) },
      loss: ({ inner, mask }, { x }, { modelState }) => ({
        loss: add(reduceSum(mul(inner.w, x)), reduceSum(mask)),
        modelState: { kept: minimum(modelState.kept, reduceMin(x)) },
      }),
    });
    expect((await training.step({ x: vector(1, 2) })).applied).toBe(true);
    expect((await training.modelState()).kept.data).toEqual(Float32Array.of(1));
  });

  it("one that stays, which skips every step and is found", async () => {
    const training = await start({ modelState: { kept: vector(Number.POSITIVE_INFINITY) } });
    expect((await training.step({ x: vector(1, 1) })).applied).toBe(false);
    expect(await training.diagnose([{ x: vector(1, 1) }])).toMatchObject({ value: "state/model/kept" });
  });

  it("an optimizer's NaN, where new parameters are not checked", async () => {
    const training = await start({ optimizer: startingAt(Number.NaN), checkNewParameters: false });
    expect((await training.step({ x: vector(1, 1) })).applied).toBe(true);
  });

  it("integers of any kind", async () => {
    const training = await start({
      modelState: { kept: tensor(Int32Array.of(0x7f800000)) },
      precision: { ...float32(), masterWeights: f32Master() },
    });
    expect((await training.step({ x: vector(1, 1) })).applied).toBe(true);
  });
});

it("model state in eighths that becomes infinite is not committed, and the culprit is found", async () => {
  for (const dtype of ["f8e4m3", "f8e5m2"] as const) {
    const training = await start({
      modelState: { kept: tensor(encodeArray(dtype, Float32Array.of(1)), [1], dtype) },
      loss: ({ inner }, { x }, { modelState }) => ({
        loss: reduceSum(mul(inner.w, x)),
        modelState: { kept: cast(mul(cast(modelState.kept, "f32"), reduceSum(x)), dtype) },
      }),
      checkNewParameters: false,
    });
    expect((await training.step({ x: vector(1, 1) })).applied).toBe(true);
    const before = await training.modelState();
    expect((await training.step({ x: vector(1e6, 1) })).applied).toBe(false);
    expect(await training.modelState()).toEqual(before);
    expect(await training.diagnose([{ x: vector(1e6, 1) }])).toMatchObject({
      op: "Cast",
      type: `${dtype}[1]`,
    });
  }
});
