import type { HostTensor, Key, Tensor, Tree } from "@mp/core";
import type { MapLeaves } from "@mp/core/graph";

/** Inputs of layers besides parameters and data; the `context` of the loss is one. */
export interface LayerContext {
  /** Dropout acts only when true. */
  readonly training: boolean;
  /** The stream of this step's randomness. */
  readonly key: Key;
}

export type ParameterTree = Tree<HostTensor>;

/** A tree of parameters as a traced function sees it. */
export type Parameters<P> = MapLeaves<P, HostTensor, Tensor>;

/** A layer is a value: how its parameters are initialized (on the host, from a key), and what it computes. */
export interface Layer<P, I = Tensor, O = Tensor> {
  /** The name of its scope in origins, policies and profiles. */
  readonly name: string;
  init(key: Key): P;
  apply(parameters: Parameters<P>, input: I, context?: LayerContext): O;
}

/** No parameters. */
export type Nothing = Readonly<Record<never, never>>;
