import { sgd, tensor } from "@mp/core";
import { relu } from "@mp/core/ops";
import { dense, meanSquaredError } from "@mp/nn";
import { uniformValues } from "./hash-values.js";
import { initialValues } from "./initial-values.js";
import { defineWorkload, type Workload } from "./workload.js";

export const MLP_SIZES = { batch: 256, size: 1024, layers: 4 };

/** W1: dense layers with ReLU between them, mean squared error, SGD at rate 1. */
export function mlp({ batch, size, layers } = MLP_SIZES): Workload {
  const draw = initialValues();
  const limit = Math.sqrt(6 / size);
  const params = Array.from({ length: layers }, () => ({
    kernel: draw.uniform([size, size], limit),
    bias: draw.zeros([size]),
  }));
  const layer = dense(size, size);
  const product = 2 * batch * size ** 2;
  const data = (seed: number) => tensor(uniformValues(seed, batch * size, Math.sqrt(3)), [batch, size]);
  return defineWorkload({
    title: `MLP, ${layers} layers of ${size}, batch ${batch}`,
    params,
    batch: { x: data(1), y: data(2) },
    loss: (weights, { x, y }) =>
      meanSquaredError(
        weights.reduce((input, own, index) => layer.apply(own, index === 0 ? input : relu(input)), x),
        y,
      ),
    optimizer: sgd({ learningRate: 1 }),
    matrixFlops: 3 * product * layers - product,
  });
}
