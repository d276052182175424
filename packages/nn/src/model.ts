import type { Tensor } from "@mp/core";
import { shown } from "@mp/graph/internal";
import { invalid } from "./errors.js";
import type { Layer, Parameters, ParameterTree } from "./layer.js";
import { applyPart, isStateful, type Part } from "./part.js";
import type { StatefulLayer } from "./stateful-layer.js";

/**
 * A network with any parameters and statistics, as a type for code that selects among networks or accepts
 * any. `asModel` makes one from a layer.
 */
export type Model = StatefulLayer<ParameterTree, ParameterTree>;

/**
 * Returns a layer without the static types of its parameters and statistics, which may be an empty tree.
 * @throws MP_INVALID_ARGUMENT for a value that is not a layer
 */
export function asModel(layer: Exclude<Part, (x: Tensor) => Tensor>): Model {
  const { init, apply } = (layer ?? {}) as Partial<Layer<unknown>>;
  if (typeof init !== "function" || typeof apply !== "function") {
    throw invalid(
      `asModel: takes a layer, got ${shown(layer)}; a function or several layers go into sequential(…)`,
    );
  }
  return {
    name: layer.name,
    init: (key) => layer.init(key) as ParameterTree,
    initState: () => (isStateful(layer) ? (layer.initState() as ParameterTree) : {}),
    apply: (parameters, x, context) => {
      const [y, state] = applyPart(layer, parameters, x, context, context.modelState);
      return [y, state as Parameters<ParameterTree>];
    },
  };
}
