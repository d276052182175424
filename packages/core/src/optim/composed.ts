import type { Tensor, TensorTree } from "@mp/graph";
import { described, withoutDefaults } from "@mp/graph/internal";
import {
  descend,
  type GradientTransformation,
  type LearningRate,
  type Optimizer,
  widestScope,
} from "./optimizer.js";
import { STATE_OPTIONS } from "./states/state-options.js";

type Settings = Parameters<typeof described>[1] & { readonly learningRate: LearningRate };

/**
 * Makes an optimizer that turns gradients into directions, by `parts` in order, and steps against the
 * directions. Unlike in a `chain`, the parts share one state record, so they need distinct names of entries.
 */
export function compose<S extends TensorTree>(
  name: string,
  settings: Settings,
  parts: readonly GradientTransformation[],
): Optimizer<S> {
  const { learningRate } = settings;
  return {
    name,
    description: described(name, withoutDefaults(settings, STATE_OPTIONS)),
    ...widestScope(parts),
    learningRates: { default: learningRate },
    init: (parameters) => Object.assign({}, ...parts.map((part) => part.init(parameters))) as S,
    update: (gradients, state, parameters, context) => {
      let directions = gradients;
      let next = state;
      const norms: Tensor[] = [];
      for (const part of parts) {
        const result = part.update(directions, next, parameters, context);
        directions = result.updates;
        next = Object.assign({}, next, result.state);
        norms.push(...(result.rates ?? []));
      }
      const { updates, rates = [] } = descend(directions, learningRate, context);
      return { updates, state: next, rates: [...norms, ...rates] };
    },
  };
}
