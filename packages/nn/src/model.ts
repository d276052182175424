import { MpError, shown, type Tensor } from "@mp/core";
import type { Layer, Parameters, ParameterTree } from "./layer.js";
import { applyPart, isStateful, type Part } from "./part.js";
import type { StatefulLayer } from "./stateful-layer.js";

/**
 * A network of any parameters and statistics: the type of what chooses one network of several, or takes whatever it is
 * given. `asModel` makes one of a layer.
 */
export type Model = StatefulLayer<ParameterTree, ParameterTree>;

/**
 * A layer whose types of parameters and statistics are forgotten; one without statistics has an empty tree of them.
 * @throws MP_INVALID_ARGUMENT for what is no layer
 */
export function asModel(layer: Exclude<Part, (x: Tensor) => Tensor>): Model {
  const { init, apply } = (layer ?? {}) as Partial<Layer<unknown>>;
  if (typeof init !== "function" || typeof apply !== "function") {
    throw new MpError(
      "MP_INVALID_ARGUMENT",
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
