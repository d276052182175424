import { ort } from "@mp/backend-ort";
import { adamW, key, mixed, tensor, trainer } from "@mp/core";
import { dense, relu, sequential, softmaxCrossEntropy } from "@mp/nn";

const model = sequential(dense(2, 32), relu, dense(32, 2));
const training = await trainer({
  backend: await ort(),
  params: model.init(key(42)),
  loss: (params, { x, y }, context) => softmaxCrossEntropy(model.apply(params, x, context), y),
  optimizer: adamW({ learningRate: 1e-2 }),
  precision: mixed(),
});
for (let step = 0; step < 200; step++) {
  const points = Array.from({ length: 64 }, (_, i) => ({
    a: Math.sin(7919 * (64 * step + i)),
    b: Math.cos(104729 * i),
  }));
  const x = tensor(Float32Array.from(points.flatMap(({ a, b }) => [a, b])), [64, 2]);
  const y = tensor(Int32Array.from(points, ({ a, b }) => Number(a * b > 0)));
  const { loss, applied, scale } = await training.step({ x, y });
  if (step % 50 === 49) console.log({ loss, applied, scale });
}
await training.dispose();
