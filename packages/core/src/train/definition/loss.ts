import type { Handle, HostTensor, Key, MapLeaves, Tensor, TensorTree } from "@mp/graph";
import type { EngineTensor } from "@mp/graph/internal";

/** A tree of host tensors as the traced function sees it: the same structure with `Tensor` leaves. */
export type Traced<T> = MapLeaves<T, HostTensor, Tensor>;

/** Data on the host, on the engine, or a tensor of the engine's own library if the backend has `adopt`. */
export type FedTensor = HostTensor | Handle | EngineTensor;

/** The data for a traced tree: what you pass at run time in place of each `Tensor`. */
export type Fed<T> = string extends keyof T
  ? { readonly [name: string]: FedTensor }
  : MapLeaves<T, Tensor, FedTensor>;

/**
 * The data of a batch, in the structure that the loss declares; any named tensors if it declares none. `D` is the type
 * of the passed data in that case: it may be an interface, which a record type would not accept.
 */
export type FedBatch<B, D> =
  | Fed<B>
  | (string extends keyof B ? { readonly [K in keyof D]: FedTensor } & object : never);

/** Everything that a traced function may depend on, besides parameters and batch. */
export interface LossContext<M = TensorTree> {
  /** False in `evaluate` and `predict`, where dropout is off and statistics are read but not updated. */
  readonly training: boolean;
  /** The stream of this step's random numbers; `foldIn` derives independent streams. */
  readonly key: Key;
  /** The `modelState` that the last applied step returned: running statistics, a carried recurrent state. */
  readonly modelState: M;
  /** Steps applied so far, i32 scalar. */
  readonly step: Tensor;
}

export interface LossParts<M = TensorTree, K extends string = string> {
  /** The loss, a scalar. */
  readonly loss: Tensor;
  /**
   * The weight of the loss, a scalar ≥ 0: the number or total weight of the labels that it averages. Microbatches and
   * ranks then combine to Σ weight · gradient / Σ weight, and `evaluateAll` forms weighted means. A batch of weight 0
   * does not count, even if its loss is NaN. No gradient flows through the weight. Return it for all batches or none.
   */
  readonly weight?: Tensor;
  /** Scalars, reported with the step: means over microbatches and ranks by the loss's weight. */
  readonly metrics?: Readonly<Record<K, Tensor>>;
  /** The next model state, in the shapes and dtypes of `context.modelState`; committed only if the step is applied. */
  readonly modelState?: M;
}

/**
 * A batch of any named tensors, for a loss that does not declare its type. `x` and `y` type-check with every compiler
 * option; with `noUncheckedIndexedAccess` other names may be undefined, so annotate the batch.
 */
export interface AnyBatch {
  readonly x: Tensor;
  readonly y: Tensor;
  readonly [name: string]: Tensor;
}

/**
 * The user's function: plain TypeScript over traced tensors, run once per batch shape. Annotate the batch, as in `{
 * ids }: { ids: Tensor }`, and `step` asks for data of that structure.
 */
export type LossFunction<P, B, M, K extends string = string> = (
  parameters: Traced<P>,
  batch: B,
  context: LossContext<Traced<M>>,
) => Tensor | LossParts<Traced<M>, K>;
