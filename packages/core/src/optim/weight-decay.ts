import { mapTensors } from "@mp/graph";
import type { Check } from "@mp/graph/internal";
import { add, mul } from "@mp/graph/ops";
import { checkHyperparameter, hyperparameter } from "./hyperparameter.js";
import type { GradientTransformation } from "./optimizer.js";
import { stateless } from "./transformation.js";

export const decay: Check = hyperparameter({ from: 0 });

/**
 * Adds λ·w to the gradients (L2 regularization, on the master weights). Use it before an optimizer in a `chain`. For
 * decoupled weight decay use `adamW`.
 */
export function weightDecay(lambda: number): GradientTransformation {
  return addDecay("weightDecay", lambda);
}

/**
 * Adds λ·w to the directions, with w the master weights. After the part that scales the gradients this is decoupled
 * weight decay (Loshchilov & Hutter, arXiv 1711.05101): `chain(scaleByAdam(), addDecayedWeights(0.01),
 * scaleByLearningRate(1e-3))`. Before that part it is `weightDecay`.
 */
export function addDecayedWeights(lambda: number): GradientTransformation {
  return addDecay("addDecayedWeights", lambda);
}

function addDecay(name: string, lambda: number): GradientTransformation {
  checkHyperparameter(`${name}: the decay`, lambda, { from: 0 });
  return stateless(`${name}(${lambda})`, "element", (gradients, parameters) =>
    mapTensors((g, w) => add(g, mul(w, lambda)), gradients, parameters),
  );
}

/** Advice for users who give `weightDecay` to an optimizer that has none. */
export const decayHint = (optimizer: string): { readonly weightDecay: string } => ({
  weightDecay: `use chain(weightDecay(1e-4), ${optimizer})`,
});

/** The weight decay as a list of parts, empty for 0. */
export const decayBy = (lambda: number): readonly GradientTransformation[] =>
  lambda === 0 ? [] : [addDecayedWeights(lambda)];
