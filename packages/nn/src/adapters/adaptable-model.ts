import type { HostTensor, Shape, Tensor, Tree } from "@mp/core";
import { shown } from "@mp/graph/internal";
import { invalid } from "../errors.js";
import type { LayerContext, Parameters } from "../layer.js";
import type { LinearPlace } from "./linear-place.js";
import type { Targets } from "./targets.js";

/** Weights by name: those of a whole model, or of the adapters of some of its linear layers. */
export type NamedParameters = { readonly [name: string]: Tree<HostTensor> };

/** A model's weights that an adapter's file may replace. */
export interface ReplaceableWeights {
  /** Shapes of all weights, by path. */
  readonly shapes: ReadonlyMap<string, Shape>;
  /** Path of the embeddings, one row for each token. */
  readonly embeddings: string;
  /** The layer that computes the logits. If `shapes` lacks its weight, that is the embeddings. */
  readonly head: LinearPlace;
}

/** A model whose linear layers can get adapters, such as one of `causalLm`, or `fromOnnx` of `@mp/onnx`. */
export interface AdaptableModel<I, O = Tensor> {
  /** Linear layers. A path leads to the layer's parameters or, in a model of an ONNX file, to the weight. */
  readonly linearLayers: readonly LinearPlace[];
  /** The linear layers that get adapters by default. */
  readonly targets: Targets;
  /** The weights that an adapter's file may replace; without them such a file is refused. */
  readonly weights?: ReplaceableWeights;
  apply(parameters: Parameters<NamedParameters>, input: I, context?: LayerContext): O;
}

/** @throws MP_INVALID_ARGUMENT for a value that is not an `AdaptableModel` */
export function expectAdaptable(what: string, model: unknown): void {
  const { linearLayers, apply } = (model ?? {}) as Partial<AdaptableModel<unknown, unknown>>;
  if (Array.isArray(linearLayers) && typeof apply === "function") return;
  throw invalid(`${what}: takes a model such as that of causalLm or fromOnnx, got ${shown(model)}`);
}
