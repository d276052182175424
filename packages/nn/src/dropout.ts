import { scope, type Tensor } from "@mp/core";
import { mul, randomBernoulli, where } from "@mp/core/ops";
import { shown } from "@mp/graph/internal";
import { invalid } from "./errors.js";
import type { Layer, LayerContext, Nothing } from "./layer.js";

/**
 * In training, zeroes elements with probability `rate` and scales the others by 1 / (1 - rate) (Srivastava et
 * al. 2014, inverted). The mask depends only on key, scope and step: recomputation, retries and resumed runs
 * get the same mask on every engine.
 * @throws MP_INVALID_ARGUMENT for a rate that is not at least 0 and below 1, or training without a context
 */
export function dropout(rate: number): Layer<Nothing> {
  if (!(typeof rate === "number" && rate >= 0 && rate < 1))
    throw invalid(`dropout: a rate must be at least 0 and below 1, got ${shown(rate)}`);
  return {
    name: "dropout",
    init: () => ({}),
    apply: (_parameters, x, context) => scope("dropout", () => drop(x, rate, context)),
  };
}

function drop(x: Tensor, rate: number, context: LayerContext | undefined): Tensor {
  if (context === undefined)
    throw invalid(
      "dropout: needs the context: model.apply(params, x, context); a loss gets it as its third argument, and so does the function given to predict",
    );
  if (!context.training || rate === 0) return x;
  const kept = randomBernoulli(context.key, 1 - rate, x.shape);
  return where(kept, mul(x, 1 / (1 - rate)), 0);
}
