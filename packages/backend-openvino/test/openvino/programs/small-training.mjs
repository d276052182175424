import { float32, momentum, trainer } from "@mp/core";
import { key, tensor } from "@mp/graph";
import { dense, meanSquaredError, relu, sequential } from "@mp/nn";

/** The losses of a few steps. Disposes the backend. */
export async function smallTraining(backend) {
  const model = sequential(dense(3, 64), relu, dense(64, 64), relu, dense(64, 1));
  const waves = (wave, shape) =>
    tensor(
      Float32Array.from({ length: shape[0] * shape[1] }, (_, at) => wave(at)),
      shape,
    );
  const batch = { x: waves(Math.sin, [8, 3]), y: waves(Math.cos, [8, 1]) };
  const training = await trainer({
    backend,
    params: model.init(key(1)),
    loss: (params, { x, y }) => meanSquaredError(model.apply(params, x), y),
    optimizer: momentum({ learningRate: 0.1, momentum: 0.9 }),
    precision: float32(),
  });
  const losses = [];
  for (let step = 0; step < 5; step++) losses.push((await training.step(batch)).loss);
  await training.dispose();
  await backend.dispose();
  return losses;
}
