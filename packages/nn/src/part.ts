/** The parts of a composed layer: layers, layers with statistics, and plain functions of a tensor. */
import { isTensor, type Tensor } from "@mp/core";
import { invalid } from "./errors.js";
import type { Layer, LayerContext, Nothing, Parameters } from "./layer.js";
import type { StatefulLayer } from "./stateful-layer.js";

export type Part = Layer<unknown> | StatefulLayer<unknown, unknown> | ((x: Tensor) => Tensor);
export type ParametersOfPart<T> = T extends { init(key: never): infer P } ? P : Nothing;
export type StateOfPart<T> = T extends { initState(): infer S } ? S : Nothing;

export function isStateful(part: Part): part is StatefulLayer<unknown, unknown> {
  return typeof part !== "function" && "initState" in part;
}

/** Runs a part. Returns the output and the new state, which is empty if the part has no state. */
export function applyPart(
  part: Part,
  parameters: Parameters<unknown>,
  x: Tensor,
  context: LayerContext | undefined,
  state: unknown,
): readonly [Tensor, unknown] {
  if (typeof part === "function") return [expectOutput(part(x)), {}];
  if (!isStateful(part)) return [expectOutput(part.apply(parameters, x, context)), {}];
  const [y, next] = part.apply(parameters, x, {
    ...(context as LayerContext),
    modelState: state as Parameters<unknown>,
  });
  return [expectOutput(y), next];
}

/** @throws MP_INVALID_ARGUMENT for a part that returns something other than a tensor, such as `lstm` */
function expectOutput(y: Tensor): Tensor {
  if (isTensor(y)) return y;
  const got = typeof y === "object" && y !== null ? `{ ${Object.keys(y).join(", ")} }` : typeof y;
  throw invalid(
    `a part must give a tensor, got ${got}; call the layer in a function of your own, and pass its tensor on: lstm(…).apply(params, x).y`,
  );
}
