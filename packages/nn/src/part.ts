/** The parts of a composed layer: layers, layers with statistics, and plain functions of a tensor. */
import type { Tensor } from "@mp/core";
import type { Layer, LayerContext, Nothing, Parameters } from "./layer.js";
import type { StatefulLayer } from "./stateful-layer.js";

export type Part = Layer<unknown> | StatefulLayer<unknown, unknown> | ((x: Tensor) => Tensor);
export type ParametersOfPart<T> = T extends { init(key: never): infer P } ? P : Nothing;
export type StateOfPart<T> = T extends { initState(): infer S } ? S : Nothing;

export function isStateful(part: Part): part is StatefulLayer<unknown, unknown> {
  return typeof part !== "function" && "initState" in part;
}

/** Runs a part. Returns its output and new state, which is empty for a part without state. */
export function applyPart(
  part: Part,
  parameters: Parameters<unknown>,
  x: Tensor,
  context: LayerContext | undefined,
  state: unknown,
): readonly [Tensor, unknown] {
  if (typeof part === "function") return [part(x), {}];
  if (!isStateful(part)) return [part.apply(parameters, x, context), {}];
  return part.apply(parameters, x, {
    ...(context as LayerContext),
    modelState: state as Parameters<unknown>,
  });
}
