import { foldIn, key, momentum, tensor, trainer } from "@mp/core";
import { relu } from "@mp/core/ops";
import { reference } from "@mp/core/reference";
import { describe, expect, it } from "vitest";
import { batchNorm } from "./batch-norm.js";
import { softmaxCrossEntropy } from "./cross-entropy.js";
import { dense } from "./dense.js";
import { asModel, type Model } from "./model.js";
import { sequential } from "./sequential.js";

const models: Readonly<Record<string, Model>> = {
  plain: asModel(sequential(dense(2, 4), relu, dense(4, 2))),
  normalized: asModel(sequential(dense(2, 4), batchNorm(4), relu, dense(4, 2))),
};

describe("networks of one type", () => {
  it.each(Object.entries(models))("%s trains, and carries what statistics it has", async (_, model) => {
    const before = model.initState();
    await using training = await trainer({
      backend: await reference(),
      params: model.init(foldIn(key(1), "model")),
      modelState: before,
      loss: (params, { x, y }, context) => {
        const [logits, modelState] = model.apply(params, x, context);
        return { loss: softmaxCrossEntropy(logits, y), modelState };
      },
      optimizer: momentum({ learningRate: 0.1, momentum: 0.9 }),
    });
    const batch = {
      x: tensor(Float32Array.of(1, 0, 0, 1, -1, 0, 0, -1), [4, 2]),
      y: tensor(Int32Array.of(0, 0, 1, 1)),
    };
    const losses = [];
    for (let step = 0; step < 10; step++) losses.push((await training.step(batch)).loss);
    expect(losses.at(-1)).toBeLessThan(0.7 * (losses[0] as number));
    const after = await training.modelState();
    expect(Object.keys(after)).toEqual(Object.keys(before));
    if (Array.isArray(before)) expect(after).not.toEqual(before);
  });

  it("are made of layers alone", () => {
    for (const none of [undefined, null, "relu", relu, [dense(2, 2)], { init: () => ({}) }]) {
      expect(() => asModel(none as never)).toThrow(/^asModel: takes a layer, got .*sequential/);
    }
  });
});
