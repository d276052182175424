import { described } from "../described.js";
import type { TensorTree } from "../trace/map-tensors.js";
import type { Tensor } from "../trace/tensor.js";
import type { GradientTransformation, UpdateContext } from "./optimizer.js";

/** The direction of an optimizer, with its state, by default element by element; its description has all settings. */
export function direction<S extends TensorTree>(
  name: string,
  settings: Parameters<typeof described>[1],
  part: Pick<GradientTransformation<S>, "init" | "update" | "scope">,
): GradientTransformation<S> {
  return { kind: "gradient", scope: "element", name, description: described(name, settings), ...part };
}

/** A transformation of gradients without state. */
export function stateless(
  name: string,
  scope: "element" | "leaf",
  update: (gradients: TensorTree, parameters: TensorTree, context: UpdateContext) => TensorTree,
): GradientTransformation {
  return scaled(name, scope, (...given) => ({ updates: update(...given) }));
}

/** One that also gives the rates, and the norms that it divides by; a step where one is not finite is skipped. */
export function scaled(
  name: string,
  scope: "element" | "leaf",
  update: (
    gradients: TensorTree,
    parameters: TensorTree,
    context: UpdateContext,
  ) => { readonly updates: TensorTree; readonly rates?: readonly Tensor[] },
): GradientTransformation {
  return {
    kind: "gradient",
    scope,
    name,
    init: () => ({}),
    update: (gradients, state, parameters, context) => ({ ...update(gradients, parameters, context), state }),
  };
}
