import type { TensorTree } from "../trace/map-tensors.js";
import type { GradientTransformation } from "./optimizer.js";

/** A transformation of gradients without state. */
export function stateless(
  name: string,
  update: (gradients: TensorTree, parameters: TensorTree) => TensorTree,
): GradientTransformation {
  return {
    kind: "gradient",
    name,
    init: () => ({}),
    update: (gradients, state, parameters) => ({ updates: update(gradients, parameters), state }),
  };
}
