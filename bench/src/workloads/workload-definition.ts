import type { Optimizer, Tensor, Traced } from "@mp/core";

/** One training step on fixed data, independent of engine and precision. */
export interface WorkloadDefinition<P, D> {
  readonly title: string;
  readonly params: P;
  readonly batch: D;
  readonly loss: (params: Traced<P>, batch: Traced<D>) => Tensor;
  readonly optimizer: Optimizer;
  readonly clipNorm?: number;
  /** The reported loss is the step's loss divided by this; default 1. */
  readonly lossDivisor?: number;
  /**
   * Operations of a step's matrix products alone, that is, three times those of the forward pass, without the gradient
   * of the first layer's input where it is not needed.
   */
  readonly matrixFlops: number;
}
