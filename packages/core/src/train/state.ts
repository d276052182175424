import type { StateBinding } from "../backend.js";
import type { ValueType } from "../graph/graph.js";
import type { TensorTree } from "../trace/map-tensors.js";
import type { Tensor } from "../trace/tensor.js";

/**
 * Everything a training run carries from step to step, one tree. The first group commits when the step is
 * applied, the second always; `commitOf` says which is which, by top-level key.
 */
export type TrainingState = {
  readonly master: TensorTree;
  readonly optimizer: TensorTree;
  readonly model: TensorTree;
  /** i32: applied steps. */
  readonly applied: Tensor;

  /** Parameters that are not trained; no step writes them. */
  readonly frozen: TensorTree;

  readonly scaler: TensorTree;
  /** i64: iterations, applied or skipped. A retry is the same iteration. */
  readonly iteration: Tensor;
  /** i64: microbatches of those iterations, the clock of all randomness: no two draw the same, whatever `accumulate` is. */
  readonly drawn: Tensor;
  /** i32: skipped iterations. */
  readonly skipped: Tensor;
  /** i32: skipped in a row, up to now. */
  readonly consecutiveSkips: Tensor;
  /** i32: overflows of the current iteration so far. */
  readonly retries: Tensor;
};

const commitOf: Readonly<Record<keyof TrainingState, NonNullable<StateBinding["commit"]>>> = {
  master: "when-applied",
  optimizer: "when-applied",
  model: "when-applied",
  applied: "when-applied",
  frozen: "when-applied",
  scaler: "always",
  iteration: "always",
  drawn: "always",
  skipped: "always",
  consecutiveSkips: "always",
  retries: "always",
};

/** The slot's group, by the first part of its path. */
export function commitOfSlot(slot: string): NonNullable<StateBinding["commit"]> {
  const [head] = slot.split("/");
  return commitOf[head as keyof TrainingState] ?? "always";
}

export function isValueType(value: unknown): value is ValueType {
  if (typeof value !== "object" || value === null) return false;
  const candidate = value as { dtype?: unknown; shape?: unknown };
  return typeof candidate.dtype === "string" && Array.isArray(candidate.shape);
}
