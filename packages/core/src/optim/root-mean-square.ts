import { elementCount, mapTensors, type Tensor, type TensorTree } from "@mp/graph";
import { div, maximum, mul, reduceSumSquare, sqrt } from "@mp/graph/ops";
import { checkHyperparameter } from "./hyperparameter.js";
import type { GradientTransformation } from "./optimizer.js";
import { scaleUpdates, stateless } from "./transformation.js";

/** √mean(x²), f32 scalar; 0 without elements. */
const rootMeanSquare = (x: Tensor): Tensor =>
  sqrt(div(reduceSumSquare(x), Math.max(1, elementCount(x.shape, "optimizer"))));

/**
 * Scales the direction of each parameter so that its root mean square is at most `threshold` (Shazeer & Stern, arXiv
 * 1804.04235, section 6); `clip_by_block_rms` of optax.
 */
export function clipByBlockRms(threshold: number): GradientTransformation {
  checkHyperparameter("clipByBlockRms: the threshold", threshold, { from: 0, open: true });
  return scaleUpdates(`clipByBlockRms(${threshold})`, "leaf", (directions) => {
    const rates: Tensor[] = [];
    const updates = mapTensors((d) => {
      const size = rootMeanSquare(d);
      rates.push(size);
      return div(d, maximum(div(size, threshold), 1));
    }, directions);
    return { updates, rates };
  });
}

/**
 * Makes steps relative: scales the direction of each parameter by the root mean square of the parameter, at least
 * `smallest`; `scale_by_param_block_rms` of optax.
 */
export function scaleByParameterRms(smallest = 1e-3): GradientTransformation {
  checkHyperparameter("scaleByParameterRms: the smallest", smallest, { from: 0 });
  return stateless(`scaleByParameterRms(${smallest})`, "leaf", (directions: TensorTree, parameters) =>
    mapTensors((d, w) => mul(d, maximum(rootMeanSquare(w), smallest)), directions, parameters),
  );
}
