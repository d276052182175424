import { float32, negativeLogLikelihoodLoss, sgd, softmaxCrossEntropyLoss, tensor, trainer } from "@mp/core";
import { describe, expect, it } from "vitest";
import { ort } from "../src/index.js";

const losses = {
  softmaxCrossEntropyLoss,
  negativeLogLikelihoodLoss,
};

describe.each(Object.entries(losses))("%s", (_name, lossOf) => {
  it.each([
    [undefined, [0, -1]],
    [undefined, [0, 3]],
    [-100, [0, -1]],
    [-100, [0, 3]],
    [3, [3, -1]],
  ])("with ignoreIndex %s refuses labels %j, and the run goes on", async (ignoreIndex, labels) => {
    const backend = await ort();
    const training = await trainer({
      backend,
      params: { w: tensor(new Float32Array(6).fill(0.5), [2, 3]) },
      loss: ({ w }, { y }) => lossOf(w, y, ignoreIndex === undefined ? {} : { ignoreIndex }),
      optimizer: sgd({ learningRate: 1 }),
      precision: float32(),
    });
    const batch = (of: readonly number[]) => ({ y: tensor(Int32Array.from(of)) });
    await expect(training.step(batch(labels))).rejects.toThrow("run: ");
    await expect(training.evaluate(batch(labels))).rejects.toThrow();
    expect((await training.counters()).iteration).toBe(0);
    expect((await training.step(batch([0, 2]))).applied).toBe(true);
    await training.dispose();
    await backend.dispose();
  });
});
