import { float32, sgd, trainer } from "@mp/core";
import { type Tensor, tensor } from "@mp/graph";
import { gather, negativeLogLikelihoodLoss, reduceMean, softmaxCrossEntropyLoss } from "@mp/graph/ops";
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
    const outOfRange = { code: "MP_OUT_OF_RANGE" };
    await expect(training.step(batch(labels))).rejects.toMatchObject(outOfRange);
    await expect(training.evaluate(batch(labels))).rejects.toMatchObject(outOfRange);
    expect((await training.counters()).iteration).toBe(0);
    expect((await training.step(batch([0, 2]))).applied).toBe(true);
    await training.dispose();
    await backend.dispose();
  });
});

it.each([10, -11])("an embedding of 10 words refuses word %i in a step as in an evaluation", async (word) => {
  const backend = await ort();
  const training = await trainer({
    backend,
    params: { table: tensor(new Float32Array(20).fill(0.5), [10, 2]) },
    loss: ({ table }, { words }: { words: Tensor }) => reduceMean(gather(table, words)),
    optimizer: sgd({ learningRate: 1 }),
    precision: float32(),
  });
  const batch = { words: tensor(Int32Array.of(1, word)) };
  await expect(training.step(batch)).rejects.toMatchObject({ code: "MP_OUT_OF_RANGE" });
  await expect(training.evaluate(batch)).rejects.toMatchObject({ code: "MP_OUT_OF_RANGE" });
  await training.dispose();
  await backend.dispose();
});
