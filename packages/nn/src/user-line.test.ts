import { adamW, key, type Tensor, tensor, trainer, zeros } from "@mp/core";
import { matMul, mul, reduceSum } from "@mp/core/ops";
import { reference } from "@mp/core/reference";
import { expect, it } from "vitest";
import {
  batchNorm,
  convolution,
  dense,
  globalMaxPool,
  lstm,
  maxPooling,
  relu,
  sequential,
  softmaxCrossEntropy,
} from "./index.js";
import type { Part } from "./part.js";

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
    message: expect.stringMatching(
      /^0 sequential\/1 sequential\/1 sequential\/0 conv: Conv: .* \(at .*user-line\.test\.ts:\d+/,
    ),
    details: { line: expect.stringContaining("user-line.test.ts:") as string, scope: "0/1/1/0/conv" },
  });
  await training.dispose();
});

it.each<readonly [string, Part, string]>([
  ["a layer's own check", lstm(3, 4) as never, "1 lstm: lstm: takes [time, batch, 3], got [2, 5]"],
  [
    "what gives no tensor",
    { ...lstm(5, 4), apply: () => ({ y: 1, state: 2 }) } as never,
    "1 lstm: a part must give a tensor, got { y, state }",
  ],
  ["a function", (x) => matMul(x, x), "1 function: MatMul: inner sizes differ, [2, 5] by [2, 5]"],
])("of %s begins with its layer, and ends with the line", async (_what, part, message) => {
  const model = sequential(relu, part as typeof relu);
  const training = await trainer({
    backend: await reference(),
    params: { w: zeros([5]) },
    loss: ({ w }, { x }: { x: Tensor }) =>
      reduceSum(mul(w, model.apply([{}, lstm(3, 4).init(key(1))] as never, x))),
    optimizer: adamW({ learningRate: 1e-3 }),
  });
  const error = await training.step({ x: zeros([2, 5]) }).then(String, (cause: Error) => cause);
  expect(error).toMatchObject({
    details: { layer: message.split(":")[0], line: expect.stringContaining("user-line") as string },
  });
  expect((error as Error).message).toContain(message);
  expect((error as Error).message).toMatch(/\(at .*user-line\.test\.ts:\d+:\d+\)/);
  await training.dispose();
});
