import { adamW, tensor } from "@mp/core";
import { relu } from "@mp/core/ops";
import { dense, meanSquaredError } from "@mp/nn";
import { uniformValues } from "../workloads/hash-values.js";
import { initialValues } from "../workloads/initial-values.js";
import { defineWorkload, type Workload } from "../workloads/workload.js";

/** A model so small that the engine has almost nothing to do: two dense layers, batch 8, AdamW. */
export function tinyModel(): Workload {
  const draw = initialValues();
  const limit = 0.5;
  const first = dense(4, 8);
  const second = dense(8, 1);
  return defineWorkload({
    title: "two dense layers, 4 to 8 to 1, batch 8",
    params: {
      first: { kernel: draw.uniform([4, 8], limit), bias: draw.zeros([8]) },
      second: { kernel: draw.uniform([8, 1], limit), bias: draw.zeros([1]) },
    },
    batch: { x: tensor(uniformValues(1, 32, 1), [8, 4]), y: tensor(uniformValues(2, 8, 1), [8, 1]) },
    loss: (weights, { x, y }) =>
      meanSquaredError(second.apply(weights.second, relu(first.apply(weights.first, x))), y),
    optimizer: adamW({ learningRate: 1e-3 }),
    matrixFlops: 3 * 2 * 8 * (4 * 8 + 8) - 2 * 8 * 4 * 8,
  });
}
