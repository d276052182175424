import type { TensorTree } from "../trace/map-tensors.js";
import type { Optimizer } from "./optimizer.js";

/** A transformation of gradients that remembers nothing. */
export function stateless(
  name: string,
  update: (gradients: TensorTree, parameters: TensorTree) => TensorTree,
): Optimizer {
  return {
    name,
    init: () => ({}),
    update: (gradients, state, parameters) => ({ updates: update(gradients, parameters), state }),
  };
}
