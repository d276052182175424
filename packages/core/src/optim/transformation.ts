import type { Tensor, TensorTree } from "@mp/graph";
import { described, withoutDefaults } from "@mp/graph/internal";
import type { GradientTransformation, UpdateContext } from "./optimizer.js";
import { STATE_OPTIONS, type StateOptions, type StateSlots } from "./states/state-options.js";
import { withStoredStates } from "./stored-states.js";

/**
 * Makes a transformation that computes an optimizer's direction, by default element by element. The keys of `slots`
 * are the states that `settings` may store in few bits, its values say whether a state has negative numbers.
 */
export function direction<S extends TensorTree>(
  name: string,
  settings: Parameters<typeof described>[1] & StateOptions,
  {
    slots,
    ...part
  }: Pick<GradientTransformation<S>, "init" | "update" | "scope"> & { readonly slots: StateSlots },
): GradientTransformation<S> {
  const description = described(name, withoutDefaults(settings, STATE_OPTIONS));
  return withStoredStates<S, GradientTransformation<S>>(
    { kind: "gradient", scope: "element", name, description, ...part },
    slots,
    settings,
  );
}

/** A transformation of gradients without state. */
export function stateless(
  name: string,
  scope: "element" | "leaf",
  update: (gradients: TensorTree, parameters: TensorTree, context: UpdateContext) => TensorTree,
): GradientTransformation {
  return scaleUpdates(name, scope, (...given) => ({ updates: update(...given) }));
}

/** A stateless transformation that also returns rates and norms; if one is not finite, the step is skipped. */
export function scaleUpdates(
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
