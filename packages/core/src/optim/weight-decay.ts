import { mapTensors } from "../trace/map-tensors.js";
import { add, mul } from "../trace/ops/elementwise.js";
import { checkHyperparameter } from "./hyperparameter.js";
import type { Optimizer } from "./optimizer.js";
import { stateless } from "./stateless.js";

/** Adds λ·w to the gradients (L2 regularisation, on the masters); for decoupled decay use `adamW`. */
export function weightDecay(lambda: number): Optimizer {
  checkHyperparameter("weightDecay: the decay", lambda, { from: 0 });
  return stateless(`weightDecay(${lambda})`, (gradients, parameters) =>
    mapTensors((g, w) => add(g, mul(w, lambda)), gradients, parameters),
  );
}
