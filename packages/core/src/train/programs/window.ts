import type { Tensor, TensorTree } from "@mp/graph";
import type { StepDefinition } from "../definition/definition.js";

/** Sums over the microbatches of a step (one without accumulation) and over ranks. */
export interface Window {
  /** Sum of the microbatches' losses, times their weights if they have any. */
  readonly loss: Tensor;
  /** Sum of the microbatches' gradients of loss · scale, times their weights if they have any, f32. */
  readonly gradients: TensorTree;
  /** Model state after the last microbatch. */
  readonly model: TensorTree;
  /** Largest magnitudes of each parameter's products, f32 [3], for delayed scaling; empty without it. */
  readonly amax: TensorTree;
  /** NaN if anything so far was not finite, else 0. */
  readonly poison: Tensor;
  /** Divisors that turn the sums into means; with accumulation `sum`, `gradients` has the number of ranks only. */
  readonly parts: { readonly loss: number | Tensor; readonly gradients: number | Tensor };
  /** Total weight, if the loss returns weights. */
  readonly weight?: Tensor | undefined;
}

/** The number of losses that a window sums over microbatches and ranks. */
export const lossesIn = ({ accumulate, rank }: Pick<StepDefinition, "accumulate" | "rank">): number =>
  accumulate * (rank?.size ?? 1);

/** The divisors of the window's sums if losses have no weights. */
export function partsOf(definition: StepDefinition): Window["parts"] {
  const losses = lossesIn(definition);
  const gradients = definition.accumulation === "mean" ? losses : (definition.rank?.size ?? 1);
  return { loss: losses, gradients };
}
