import { mapTensors, type Tensor, type TensorTree } from "@mp/graph";
import type { Check } from "@mp/graph/internal";
import { add, cast, div, literal, mul, tanh } from "@mp/graph/ops";
import { hyperparameter } from "./hyperparameter.js";
import type { UpdateContext } from "./optimizer.js";

export const square = (x: Tensor): Tensor => mul(x, x);

/** decay · average + (1 - decay) · x, leaf by leaf. */
export const average = (averages: TensorTree, xs: TensorTree, decay: number): TensorTree =>
  mapTensors((mean, x) => add(mul(mean, decay), mul(x, 1 - decay)), averages, xs);

/** t: the number of this step, 1 for the first; f32 scalar. */
export const stepNumber = ({ step }: UpdateContext): Tensor => add(cast(step, "f32"), 1);

/**
 * 1 - β^t. In f32 the difference keeps only five digits at t = 1 and β = 0.999, fewer than the moments have. So it is
 * computed as 2u / (1 + u) with u = tanh(-t·ln(β)/2), accurate to the last place.
 */
export function biasCorrection(beta: number, t: Tensor): Tensor {
  if (beta === 0) return literal(1);
  const u = tanh(mul(t, -Math.log(beta) / 2));
  return div(mul(u, 2), add(u, 1));
}

/** Smallest epsilon: a smaller one times a bias correction may be flushed to 0, so that a gradient of 0 gives 0 / 0. */
const SMALLEST_EPSILON = 2 ** -100;

/** Checks that an epsilon is large enough to prevent 0 / 0. */
export const positiveEpsilon: Check = hyperparameter({ from: SMALLEST_EPSILON });
