import type { HostTensor, Key, Tensor, Tree } from "@mp/core";
import type { MapLeaves } from "@mp/core/graph";

/** The input of a layer besides parameters and data; a loss passes its own `context`. */
export interface LayerContext {
  /** Whether dropout is active. */
  readonly training: boolean;
  /** The random stream of this step. */
  readonly key: Key;
}

export type ParameterTree = Tree<HostTensor>;

/** A tree of parameters as a traced function sees it. */
export type Parameters<P> = MapLeaves<P, HostTensor, Tensor>;

/** A layer is a value: `init` makes its parameters, on the host from a key, and `apply` computes its output. */
export interface Layer<P, I = Tensor, O = Tensor> {
  /** The name of the layer's scope in origins, policies and profiles. */
  readonly name: string;
  init(key: Key): P;
  apply(parameters: Parameters<P>, input: I, context?: LayerContext): O;
}

/** An empty tree of parameters. */
export type Nothing = Readonly<Record<never, never>>;
