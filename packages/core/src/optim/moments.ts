import type { Check } from "../argument-checks.js";
import { mapTensors, type TensorTree } from "../trace/map-tensors.js";
import { add, mul } from "../trace/ops/binary.js";
import type { Tensor } from "../trace/tensor.js";
import { hyperparameter } from "./hyperparameter.js";

export const square = (x: Tensor): Tensor => mul(x, x);

/** decay · average + (1 - decay) · x, leaf by leaf. */
export const average = (averages: TensorTree, xs: TensorTree, decay: number): TensorTree =>
  mapTensors((mean, x) => add(mul(mean, decay), mul(x, 1 - decay)), averages, xs);

/**
 * A smaller epsilon times a bias correction could be 0 on an engine without subnormals: 0 / 0 where the gradient is 0.
 */
const SMALLEST_EPSILON = 2 ** -100;

/** An epsilon large enough to prevent 0 / 0. */
export const positiveEpsilon: Check = hyperparameter({ from: SMALLEST_EPSILON });
