import { tmpdir } from "node:os";
import { join } from "node:path";
import { ort } from "@mp/backend-ort";
import { adamW, key, mixedFloat16, type Tensor, type Traced, tensor, trainer } from "@mp/core";
import { biasesAndNorms, byPath } from "@mp/core/optim";
import { dense, type Initializer, layerNorm, relu, softmaxCrossEntropy } from "@mp/nn";

const wave =
  (step: number): Initializer =>
  (_key, shape, inputs) => {
    const size = shape.reduce((product, dimension) => product * dimension, 1);
    const value = (_: unknown, i: number) => Math.sin(step * (i + 1)) / Math.sqrt(inputs);
    return tensor(Float32Array.from({ length: size }, value), shape);
  };
const stem = dense(2, 16, { kernel: wave(1), bias: wave(2) });
const body = dense(16, 32, { kernel: wave(3) });
const norm = layerNorm(32);
const head = dense(32, 2, { kernel: wave(4) });
const [a, b, c, d] = [key(1), key(2), key(3), key(4)];
const params = { stem: stem.init(a), body: body.init(b), norm: norm.init(c), head: head.init(d) };

function loss(weights: Traced<typeof params>, { x, y }: { x: Tensor; y: Tensor }) {
  const features = body.apply(weights.body, relu(stem.apply(weights.stem, x)));
  const logits = head.apply(weights.head, relu(norm.apply(weights.norm, features)));
  return softmaxCrossEntropy(logits, y);
}
function points(step: number) {
  const at = (i: number) => [Math.sin(7919 * (64 * step + i)), Math.cos(104729 * i)] as const;
  const places = Array.from({ length: 64 }, (_, i) => at(i));
  const labels = Int32Array.from(places, ([a, b]) => Number(a * b > 0));
  return { x: tensor(Float32Array.from(places.flat()), [64, 2]), y: tensor(labels) };
}
/** AdamW without decay on biases and norms. */
const decayed = (learningRate: number) =>
  byPath(
    [{ group: "flat", paths: biasesAndNorms, optimizer: adamW({ learningRate, weightDecay: 0 }) }],
    adamW({ learningRate, weightDecay: 0.1 }),
  );
const options = {
  params,
  loss,
  optimizer: byPath([{ group: "head", paths: "head", optimizer: decayed(2e-3) }], decayed(2e-4)),
  precision: mixedFloat16(), // autocast and GradScaler
  frozen: { stem: true },
  accumulate: 2,
  clipNorm: 1,
  ema: { decay: 0.99 },
};
const [backend, path] = [await ort(), join(tmpdir(), `recipe-${process.pid}.safetensors`)];
export const losses: number[] = [];
export let averaged = 0;
for (const end of [100, 200]) {
  await using training = await trainer({ backend, ...options });
  if (losses.length > 0) await training.load(path);
  while (losses.length < end)
    losses.push((await training.step(points(2 * losses.length), points(2 * losses.length + 1))).loss);
  await training.save(path);
  averaged = (await training.evaluate(points(1000), { weights: "ema" })).loss;
}
console.log(losses.length, averaged < 0.5); // 200 true
