import { adamW, key, type Tensor, tensor, trainer, zeros } from "@mp/core";
import { reference } from "@mp/core/reference";
import { expect, it } from "vitest";
import {
  batchNorm,
  convolution,
  dense,
  globalMaxPool,
  maxPooling,
  relu,
  sequential,
  softmaxCrossEntropy,
} from "./index.js";

it("an error under layers in layers names the line that applies the model, and the layer", async () => {
  const block = (inputs: number, outputs: number) =>
    sequential(convolution(inputs, outputs, 3, { padding: "same" }), batchNorm(outputs), relu, maxPooling(2));
  const blocks = sequential(block(3, 4), sequential(block(4, 8), block(16, 8)));
  const model = sequential(blocks, globalMaxPool, dense(8, 2));
  const training = await trainer({
    backend: await reference(),
    params: model.init(key(1)),
    modelState: model.initState(),
    loss: (params, { x, y }: { x: Tensor; y: Tensor }, context) => {
      const [logits, modelState] = model.apply(params, x, context);
      return { loss: softmaxCrossEntropy(logits, y), modelState };
    },
    optimizer: adamW({ learningRate: 1e-3 }),
  });
  const batch = { x: zeros([2, 3, 32, 32]), y: tensor(Int32Array.of(0, 1)) };
  await expect(training.step(batch)).rejects.toMatchObject({
    code: "MP_SHAPE_MISMATCH",
    details: { line: expect.stringContaining("user-line.test.ts:") as string, scope: "0/1/1/0/conv" },
  });
  await training.dispose();
});
