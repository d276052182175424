import type { Tensor } from "@mp/core";
import type { Parameters, ParameterTree } from "./layer.js";
import { applyPart, isStateful, type Part } from "./part.js";
import type { StatefulLayer } from "./stateful-layer.js";

/**
 * A network of any parameters and statistics: the type of what chooses one network of several, or takes whatever it is
 * given. `asModel` makes one of a layer.
 */
export type Model = StatefulLayer<ParameterTree, ParameterTree>;

/** A layer whose types of parameters and statistics are forgotten; one without statistics has an empty tree of them. */
export function asModel(layer: Exclude<Part, (x: Tensor) => Tensor>): Model {
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
