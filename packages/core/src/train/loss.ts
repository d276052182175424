import type { EngineTensor, Handle } from "../backend.js";
import type { HostTensor } from "../host-tensor.js";
import type { TensorTree } from "../trace/map-tensors.js";
import type { Key } from "../trace/random.js";
import type { Tensor } from "../trace/tensor.js";
import type { MapLeaves } from "../tree.js";

/** A tree of host tensors as the traced function sees it: the same structure of `Tensor`s. */
export type Traced<T> = MapLeaves<T, HostTensor, Tensor>;

/** Data on the host, on the engine, or of the engine's own library where the backend adopts it. */
export type FedTensor = HostTensor | Handle | EngineTensor;

/** The data of a traced tree: what is passed in at run time where the function says `Tensor`. */
export type Fed<T> = string extends keyof T
  ? { readonly [name: string]: FedTensor }
  : MapLeaves<T, Tensor, FedTensor>;

/**
 * The data of a batch: of the structure that the loss says, or any named tensors where it says none. `D` is what is
 * given then: an interface has no index signature, so no type could ask for one.
 */
export type FedBatch<B, D> =
  | Fed<B>
  | (string extends keyof B ? { readonly [K in keyof D]: FedTensor } : never);

/** What a traced function may depend on besides parameters and batch. */
export interface LossContext<M = TensorTree> {
  /** False in `evaluate` and `predict`: dropout is off, statistics are read and not updated. */
  readonly training: boolean;
  /** The stream of this step's randomness; `fold` it for independent ones. */
  readonly key: Key;
  /** What the last committed step returned as `modelState`: running statistics, a carried recurrent state. */
  readonly modelState: M;
  /** i32 scalar: steps applied so far. */
  readonly step: Tensor;
}

export interface LossParts<M = TensorTree, K extends string = string> {
  /** Scalar. */
  readonly loss: Tensor;
  /** Scalars, reported with the step and averaged over microbatches. */
  readonly metrics?: Readonly<Record<K, Tensor>>;
  /** Of the shapes and dtypes of `context.modelState`; commits with the step or not at all. */
  readonly modelState?: M;
}

/**
 * A batch whose loss does not say its type: any named tensors may be fed. `x` and `y` can be taken out under every
 * compiler option; with `noUncheckedIndexedAccess` other names may be undefined to the compiler, which an annotation
 * settles.
 */
export interface AnyBatch {
  readonly x: Tensor;
  readonly y: Tensor;
  readonly [name: string]: Tensor;
}

/**
 * The user's function: plain TypeScript over traced tensors, run once per batch shape. Annotate the batch,
 * `{ ids }: { ids: Tensor }`, and `step` asks for data of that structure.
 */
export type LossFunction<P, B, M, K extends string = string> = (
  parameters: Traced<P>,
  batch: B,
  context: LossContext<Traced<M>>,
) => Tensor | LossParts<Traced<M>, K>;
