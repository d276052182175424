import { mapTensors } from "../trace/map-tensors.js";
import { add, mul } from "../trace/ops/binary.js";
import { checkHyperparameter } from "./hyperparameter.js";
import type { GradientTransformation } from "./optimizer.js";
import { stateless } from "./stateless.js";

/**
 * Adds λ·w to the gradients (L2 regularization, on the master weights). Use it before an optimizer in a `chain`. For
 * decoupled weight decay use `adamW`.
 */
export function weightDecay(lambda: number): GradientTransformation {
  checkHyperparameter("weightDecay: the decay", lambda, { from: 0 });
  return stateless(`weightDecay(${lambda})`, (gradients, parameters) =>
    mapTensors((g, w) => add(g, mul(w, lambda)), gradients, parameters),
  );
}
