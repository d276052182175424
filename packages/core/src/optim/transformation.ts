import type { Tensor, TensorTree } from "@mp/graph";
import { described, withoutDefaults } from "@mp/graph/internal";
import type { GradientTransformation, UpdateContext } from "./optimizer.js";
import { STATE_OPTIONS, type StateOptions, type StateSlots } from "./states/state-options.js";
import { withStoredStates } from "./stored-states.js";

/**
 * The direction of an optimizer, by default element by element; its description has all settings. Those of its slots that
 * the settings store in few bits are named in `slots`.
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

/** One that also gives the rates, and the norms that it divides by; a step where one is not finite is skipped. */
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
