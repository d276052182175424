import { type Tensor, tensor } from "@mp/graph";
import { reduceSum } from "@mp/graph/ops";
import { reference } from "@mp/graph/reference";
import { describe, expect, it } from "vitest";
import { adamW } from "../../optim/adam.js";
import { sgd } from "../../optim/sgd.js";
import { noLossScaling } from "../../precision/loss-scaler.js";
import { float32, mixed, mixedFloat16 } from "../../precision/presets.js";
import { trainer } from "../trainer.js";

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
    [training.step(undefined as never), "batch: a tree holds tensors"],
    [training.fit([{}], { save: { path: 3 as never } }), "fit: save: path: takes the path of a file, got 3"],
    [
      training.predict("x" as unknown as typeof predict, {}),
      'predict: takes a function of parameters and data, got "x"',
    ],
    [training.predict(undefined as unknown as typeof predict, {}), "predict: takes a function"],
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
  await expect(wrong).rejects.toThrow("params: parameters that are trained must be f32, got i32");
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

const scaledFrom = (range: object): object => {
  const { minScale: _from, maxScale: _to, ...lossScaler } = noLossScaling();
  return { precision: { ...float32(), lossScaler: { ...lossScaler, ...range } } };
};

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
    [{ freeze: { x: true } }, 'trainer: has no option "freeze"; did you mean frozen?'],
    [{ lossScaler: 3 }, 'trainer: has no option "lossScaler"; takes backend'],
    [{ loss: "mse" }, 'loss must be a function, got "mse"'],
    [{ precision: "mixed_float16" }, 'precision is "mixed_float16"; make one'],
    [{ precision: { ...float32(), lossScaler: 128 } }, "precision: lossScaler is 128; make one"],
    [{ precision: { ...float32(), masterWeights: {} } }, "masterWeights is an object with nothing"],
    [{ precision: { ...float32(), policy: "f16" } }, 'precision: policy is "f16"; make one'],
    [{ onWarning: 5 }, "onWarning must be a function, got 5"],
    [{ allReduce: "mean" }, 'allReduce must be a function, got "mean"'],
    [{ checkNewParameters: "no" }, 'checkNewParameters must be true or false, got "no"'],
    [
      { precision: { ...mixedFloat16(), losScaler: noLossScaling() } },
      'precision: has no option "losScaler"; did you mean lossScaler?',
    ],
    [
      { precision: { ...mixedFloat16(), lossScale: 128 } },
      'precision: has no option "lossScale"; did you mean lossScaler?',
    ],
    [
      { precision: { ...mixed(), lossScaler: noLossScaling() } },
      "precision lacks name, policy, masterWeights; mixed() cannot be spread, spread mixedFloat16()",
    ],
    [scaledFrom({ minScale: Number.NaN }), "ascending order, of 2^-126 to 2^126, got NaN and undefined"],
    [scaledFrom({ minScale: 5, maxScale: 2 }), "loss scaler none: minScale and maxScale are numbers"],
    [scaledFrom({ minScale: 2 ** 127 }), "of 2^-126 to 2^126, got 1.7014118346046923e+38 and undefined"],
    [scaledFrom({ maxScale: "1" }), 'got undefined and "1"'],
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
