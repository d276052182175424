import type { HostTensor, Tensor, Tree } from "@mp/core";
import type { LayerContext, Parameters } from "../layer.js";
import type { LinearPlace } from "../transformers/index.js";

/** Trees of weights by the names of a model: of the model itself, or of adapters at some of its linear layers. */
export type NamedParameters = { readonly [name: string]: Tree<HostTensor> };

/** A model whose linear layers may get adapters, such as that of `causalLm`. */
export interface AdaptableModel<I> {
  readonly linearLayers: readonly LinearPlace[];
  /** The last parts of the paths of the linear layers that get adapters by default. */
  readonly targets: readonly string[];
  apply(parameters: Parameters<NamedParameters>, input: I, context?: LayerContext): Tensor;
}
