import type { HostTensor, Tensor, Tree } from "@mp/core";
import { shown } from "@mp/graph/internal";
import { invalid } from "../errors.js";
import type { LayerContext, Parameters } from "../layer.js";
import type { LinearPlace } from "./linear-place.js";
import type { Targets } from "./targets.js";

/** Weights by name: of a whole model, or of adapters at some of its linear layers. */
export type NamedParameters = { readonly [name: string]: Tree<HostTensor> };

/** A model whose linear layers may get adapters, such as one of `causalLm`, or of `fromOnnx` of `@mp/onnx`. */
export interface AdaptableModel<I, O = Tensor> {
  /** Linear layers. Each path leads to a layer's parameters or, in a model of an ONNX file, to the weight itself. */
  readonly linearLayers: readonly LinearPlace[];
  /** The linear layers that get adapters by default. */
  readonly targets: Targets;
  apply(parameters: Parameters<NamedParameters>, input: I, context?: LayerContext): O;
}

/** @throws MP_INVALID_ARGUMENT for a value that is not such a model */
export function expectAdaptable(what: string, model: unknown): void {
  const { linearLayers, apply } = (model ?? {}) as Partial<AdaptableModel<unknown, unknown>>;
  if (Array.isArray(linearLayers) && typeof apply === "function") return;
  throw invalid(`${what}: takes a model such as that of causalLm or fromOnnx, got ${shown(model)}`);
}
