import type { PlannedMemory } from "@mp/core/report";

/** Figures of one way of training, measured by a process of its own. */
export interface Measured {
  /** The precision's name. */
  readonly precision: string;
  readonly planned: PlannedMemory;
  /**
   * The engine's own peak, which counts tensors alone, or, where it tells none, the peak of the process's resident memory
   * over that before the training.
   */
  readonly peak: { readonly of: "tensors" | "process"; readonly bytes: number };
  /** The fastest step. */
  readonly msPerStep: number;
}
