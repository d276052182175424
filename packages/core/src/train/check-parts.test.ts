import { describe, expect, it } from "vitest";
import { tensor } from "../host-tensor.js";
import { adamW } from "../optim/adaptive.js";
import { sgd } from "../optim/sgd.js";
import { reference } from "../reference/index.js";
import { reduceSum } from "../trace/ops/reduce.js";
import { float32, mixed } from "./precision.js";
import { trainer } from "./trainer.js";

describe("a trainer of parts that are none", () => {
  it.each([
    [{ backend: reference() }, "backend is a promise; await the factory"],
    [{ backend: undefined }, "backend is undefined"],
    [{ optimizer: undefined }, "optimizer is undefined"],
    [{ optimizer: adamW }, "optimizer is the function adamW; make one"],
    [{ optimizer: { update: () => undefined } }, "optimizer is an object with update"],
    [{ loss: "mse" }, 'loss is a function, got "mse"'],
    [{ precision: "mixed_float16" }, 'precision is "mixed_float16"; make one'],
    [{ precision: mixed }, "precision is the function"],
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
