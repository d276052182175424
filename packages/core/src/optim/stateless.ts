import type { TensorTree } from "../trace/map-tensors.js";
import type { Tensor } from "../trace/tensor.js";
import type { GradientTransformation, UpdateContext } from "./optimizer.js";

/** A transformation of gradients without state. */
export function stateless(
  name: string,
  update: (gradients: TensorTree, parameters: TensorTree, context: UpdateContext) => TensorTree,
): GradientTransformation {
  return scaled(name, (...given) => ({ updates: update(...given) }));
}

/** One that also gives the rates, and the norms that it divides by; a step where one is not finite is skipped. */
export function scaled(
  name: string,
  update: (
    gradients: TensorTree,
    parameters: TensorTree,
    context: UpdateContext,
  ) => { readonly updates: TensorTree; readonly rates?: readonly Tensor[] },
): GradientTransformation {
  return {
    kind: "gradient",
    name,
    init: () => ({}),
    update: (gradients, state, parameters, context) => ({ ...update(gradients, parameters, context), state }),
  };
}
