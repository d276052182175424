import { mapTensors, type Tensor, type TensorTree } from "@mp/graph";
import { poisonOf } from "@mp/graph/internal";
import { add, equal, literal, maximum, mul, not, where } from "@mp/graph/ops";
import { zerosLike } from "../../optim/optimizer.js";
import { scaleIn } from "../../quantize/scaling-state.js";
import type { StepDefinition } from "../definition/definition.js";
import type { TrainingState } from "../definition/state.js";
import type { ForwardBackward } from "./forward.js";
import { partsOf, type Window } from "./window.js";

/** Sums over the microbatches of a step so far, kept in the engine's state between runs, never in a checkpoint. */
export type WindowState = {
  /** Gradients of loss · scale, times the loss's weight if it returns one. */
  readonly gradients: TensorTree;
  /** Losses, times their weights. */
  readonly loss: Tensor;
  readonly model: TensorTree;
  /** Largest magnitudes of each parameter's products, f32 [3], for delayed scaling; empty without it. */
  readonly amax: TensorTree;
  /**
   * 0, or the total weight if the loss returns weights; NaN if a loss or model state was not finite. Gradients are
   * checked once, at the end of the window.
   */
  readonly poison: Tensor;
  /** Number of microbatches accumulated, i32. */
  readonly micro: Tensor;
};

export function emptyWindow(
  definition: StepDefinition,
  { master, recipe }: Pick<TrainingState, "master" | "recipe">,
  model: TensorTree,
): WindowState {
  return {
    gradients: zerosLike(definition.precision.masterWeights.parameters(master)),
    loss: literal(0),
    model,
    amax: zerosLike(scaleIn(recipe)),
    poison: literal(0),
    micro: literal(0, "i32"),
  };
}

export const addWindow = (window: WindowState, own: Omit<WindowState, "micro">): WindowState => ({
  gradients: mapTensors(add, window.gradients, own.gradients),
  loss: add(window.loss, own.loss),
  model: own.model,
  amax: mapTensors(maximum, window.amax, own.amax),
  poison: add(window.poison, own.poison),
  micro: add(window.micro, 1),
});

/** The sums that one microbatch adds to a window: zeros, even for a loss of NaN, if its weight is 0. */
export function ownWindow(pass: ForwardBackward, before: TensorTree): Omit<WindowState, "micro"> {
  const { gradients, loss, model, weight, amax } = pass;
  const poison = poisonOf({ loss, model });
  if (weight === undefined) return { gradients, loss, model, amax, poison };
  const counts = not(equal(weight, 0));
  const weighed = (x: Tensor): Tensor => where(counts, mul(x, weight), 0);
  return {
    gradients: mapTensors(weighed, gradients),
    loss: weighed(loss),
    model: mapTensors((after, unchanged) => where(counts, after, unchanged), model, before),
    amax: mapTensors((each) => where(counts, each, 0), amax),
    poison: where(counts, add(poison, weight), 0),
  };
}

/** The window as the update reads it; `isWeighted` if the loss returns weights. */
export function fullWindow(
  definition: StepDefinition,
  window: Omit<WindowState, "micro">,
  isWeighted: boolean,
): Window {
  if (!isWeighted) return { ...window, parts: partsOf(definition) };
  const weight = window.poison;
  const divisor = where(equal(weight, 0), 1, weight);
  return { ...window, poison: mul(weight, 0), weight, parts: { loss: divisor, gradients: divisor } };
}

/** The window of a step with one microbatch, whose gradients are already means. */
export function wholeWindow(pass: ForwardBackward): Window {
  const poison = pass.weight === undefined ? literal(0) : mul(pass.weight, 0);
  return { ...pass, poison, parts: { loss: 1, gradients: 1 } };
}
