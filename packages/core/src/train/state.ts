import type { StateBinding } from "../backend.js";
import type { InputRole, ValueType } from "../graph/graph.js";
import type { TensorTree } from "../trace/map-tensors.js";
import type { Tensor } from "../trace/tensor.js";

/**
 * Everything a training run carries from step to step, one tree. `slotGroups` says by top-level key what commits when
 * the step is applied and what always does.
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

/** What the first part of a slot's path decides. */
interface SlotGroup {
  readonly commit: NonNullable<StateBinding["commit"]>;
  /** What it is to casting. */
  readonly role: InputRole;
  /** Whether a checkpoint holds it. */
  readonly isSaved: boolean;
}

const weights: SlotGroup = { commit: "when-applied", role: "parameter", isSaved: true };
const transactional: SlotGroup = { commit: "when-applied", role: "state", isSaved: true };
const steady: SlotGroup = { commit: "always", role: "state", isSaved: true };

const slotGroups: Readonly<Record<keyof TrainingState | "window", SlotGroup>> = {
  master: weights,
  optimizer: transactional,
  model: transactional,
  applied: transactional,
  frozen: weights,
  scaler: steady,
  iteration: steady,
  drawn: steady,
  skipped: steady,
  consecutiveSkips: steady,
  retries: steady,
  // Between calls there is none, so one in a file would be one that was cut off.
  window: { ...steady, isSaved: false },
};

/** The slot's group, by the first part of its path. */
export function slotGroupOf(slot: string): SlotGroup {
  const [head = ""] = slot.split("/");
  if (!Object.hasOwn(slotGroups, head)) throw new Error(`internal: a training state has no ${slot}`);
  return slotGroups[head as keyof typeof slotGroups];
}

export function isValueType(value: unknown): value is ValueType {
  if (typeof value !== "object" || value === null) return false;
  const candidate = value as { dtype?: unknown; shape?: unknown };
  return typeof candidate.dtype === "string" && Array.isArray(candidate.shape);
}
