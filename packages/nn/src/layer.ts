import type { HostTensor, Key, Tensor, Tree } from "@mp/core";
import type { MapLeaves } from "@mp/core/graph";

/** The third argument of a layer, after parameters and data; a loss passes its own `context`. */
export interface LayerContext {
  /** Whether dropout is active. */
  readonly training: boolean;
  /** The random stream of this step. */
  readonly key: Key;
}

export type ParameterTree = Tree<HostTensor>;

/** The type of a tree of parameters in a traced function: tensors in place of host tensors. */
export type Parameters<P> = MapLeaves<P, HostTensor, Tensor>;

/** A layer is a plain value. `init` makes parameters on the host from a key; `apply` computes the output. */
export interface Layer<P, I = Tensor, O = Tensor> {
  /** The name of the layer's scope in origins, policies and profiles. */
  readonly name: string;
  init(key: Key): P;
  apply(parameters: Parameters<P>, input: I, context?: LayerContext): O;
}

/** An empty tree of parameters. */
export type Nothing = Readonly<Record<never, never>>;
