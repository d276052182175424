import { describe, expect, it } from "vitest";
import { tensor } from "../host-tensor.js";
import { adamW } from "../optim/adam.js";
import { sgd } from "../optim/sgd.js";
import { reference } from "../reference/index.js";
import { reduceSum } from "../trace/ops/reduce.js";
import type { Tensor } from "../trace/tensor.js";
import { float32, mixed } from "./precision.js";
import { trainer } from "./trainer.js";

it("calls of a trainer refuse what they cannot take, with a code", async () => {
  const training = await trainer({
    backend: await reference(),
    params: tensor(Float32Array.of(1)),
    loss: (weights) => reduceSum(weights),
    optimizer: sgd({ learningRate: 1 }),
    precision: float32(),
  });
  const predict = (weights: Tensor): Tensor => weights;
  const refused: readonly (readonly [unknown, string])[] = [
    [training.save(undefined as never), "save: takes the path of a file, got undefined"],
    [training.load(undefined as never), "load: takes the path of a file, got undefined"],
    [training.load("" as never), 'load: takes the path of a file, got ""'],
    [training.fit([{}], { save: { path: 3 as never } }), "fit: save.path: takes the path of a file, got 3"],
    [
      training.predict("x" as unknown as typeof predict, {}),
      'predict: takes a function of parameters and data, got "x"',
    ],
    [training.predict(undefined as unknown as typeof predict, {}), "predict: takes a function"],
    [training.step(undefined as never), "batch: a tree holds tensors"],
    [training.save("x", { curser: 2 } as never), "did you mean cursor?"],
    [
      training.evaluate({}, { state: 2 } as never),
      'evaluate: has no option "state"; did you mean modelState?',
    ],
    [
      training.evaluate({ iterate: () => undefined } as never),
      "batch: is a dataset, and this takes one batch",
    ],
  ];
  for (const [call, message] of refused) {
    await expect(call).rejects.toMatchObject({
      code: "MP_INVALID_ARGUMENT",
      message: expect.stringContaining(message) as string,
    });
  }
  // One after the other: only one may be under way.
  await expect(training.fit([{}], { epoch: 2 } as never)).rejects.toThrow(
    'fit: has no option "epoch"; did you mean epochs?',
  );
  await expect(training.fit([{}], { save: { path: "x", evry: 2 } } as never)).rejects.toThrow(
    'fit: save: has no option "evry"; did you mean every?',
  );
  await expect(training.steps([{}], { steps: 2 } as never).next()).rejects.toThrow(
    'steps: has no option "steps"; takes partial, signal, cursor',
  );
  await training.dispose();
});

it("parameters that are one tensor, and traced tensors as data, are named readably", async () => {
  const options = { backend: await reference(), optimizer: sgd({ learningRate: 1 }), precision: float32() };
  const wrong = trainer({
    ...options,
    params: tensor(Int32Array.of(1)),
    loss: (weights) => reduceSum(weights),
  });
  await expect(wrong).rejects.toThrow("params: initial parameters are f32, got i32");
  let traced: unknown;
  const params = tensor(Float32Array.of(1));
  const training = await trainer({
    ...options,
    params,
    loss: (weights) => {
      traced = weights;
      return reduceSum(weights);
    },
  });
  await training.step({});
  await expect(training.step({ x: traced } as never)).rejects.toThrow(/batch at x: .*, got Tensor$/);
});

describe("a trainer of parts that are none", () => {
  it.each([
    [{ backend: reference() }, "backend is a promise; await the factory"],
    [{ backend: undefined }, "backend is undefined"],
    [{ optimizer: undefined }, "optimizer is undefined"],
    [{ optimizer: adamW }, "optimizer is the function adamW; make one"],
    [{ optimizer: { update: () => undefined } }, "optimizer is an object with update"],
    [
      { params: { init: () => ({}), apply: () => undefined } },
      "params is a layer, an object with init, apply; make its",
    ],
    [{ lossScaler: 3 }, 'trainer: has no option "lossScaler"; takes backend'],
    [{ loss: "mse" }, 'loss is a function, got "mse"'],
    [{ precision: "mixed_float16" }, 'precision is "mixed_float16"; make one'],
    [{ precision: mixed }, "precision is a function"],
    [{ precision: { ...float32(), lossScaler: 128 } }, "precision: lossScaler is 128; make one"],
    [{ precision: { ...float32(), masterWeights: {} } }, "masterWeights is an object with nothing"],
  ])("%o is refused", async (wrong, message) => {
    const options = {
      backend: await reference(),
      params: tensor(Float32Array.of(1)),
      loss: reduceSum,
      optimizer: sgd({ learningRate: 1 }),
      precision: float32(),
      ...wrong,
    };
    await expect(trainer(options as never)).rejects.toMatchObject({
      code: "MP_INVALID_ARGUMENT",
      message: expect.stringContaining(message),
    });
    await expect(trainer(undefined as never)).rejects.toMatchObject({ code: "MP_INVALID_ARGUMENT" });
  });
});
