import type { TensorTree } from "../trace/map-tensors.js";
import type { Tensor } from "../trace/tensor.js";
import { checkUpdate, type Optimizer } from "./optimizer.js";

/** Runs transformations in order, each on what the one before gave; the last should be an optimizer. */
export function chain(...parts: readonly Optimizer[]): Optimizer<{ readonly parts: readonly TensorTree[] }> {
  return {
    name: parts.map((part) => part.name).join(" · "),
    description: parts.map((part) => part.description ?? part.name).join(" · "),
    init: (parameters) => ({ parts: parts.map((part) => part.init(parameters)) }),
    update: (gradients, state, parameters, context) => {
      let updates = gradients;
      const rates: Tensor[] = [];
      const next = parts.map((part, index) => {
        const result = part.update(updates, state.parts[index] ?? {}, parameters, context);
        checkUpdate(part.name, result);
        updates = result.updates;
        rates.push(...(result.rates ?? []));
        return result.state;
      });
      return { updates, state: { parts: next }, rates };
    },
  };
}
