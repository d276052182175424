import type { InputRole, StateBinding, Tensor, TensorTree, ValueType } from "@mp/graph";

/**
 * All state that a training run keeps between steps, in one tree. For each top-level key, `slotGroups` says whether the
 * part commits only if the step is applied, or always.
 */
export type TrainingState = {
  readonly master: TensorTree;
  readonly optimizer: TensorTree;
  readonly model: TensorTree;
  /** Moving average of the trained weights, f32, in the structure of the weights; empty if none is kept. */
  readonly ema: TensorTree;
  /** Applied steps, i32. */
  readonly applied: Tensor;
  /** `ScalingState` of a recipe with delayed scaling; empty without one. */
  readonly recipe: TensorTree;

  /** Parameters that are not trained. Steps do not write them. */
  readonly frozen: TensorTree;

  readonly scaler: TensorTree;
  /** Learning rates that the host sets, f32 scalars by group. Steps do not write them. */
  readonly rates: Readonly<Record<string, Tensor>>;
  /** Iterations, applied or skipped, i32. A retry belongs to the same iteration. */
  readonly iteration: Tensor;
  /**
   * Microbatches of all iterations, i32: the counter of all random numbers. No two microbatches draw the same
   * numbers, whatever `accumulate` is.
   */
  readonly drawn: Tensor;
  /** Skipped iterations, i32. */
  readonly skipped: Tensor;
  /** Iterations that were skipped in a row until now, i32. */
  readonly consecutiveSkips: Tensor;
  /** Overflows of the current iteration so far, i32. */
  readonly retries: Tensor;
};

/** Properties of a slot that follow from the first part of its path. */
interface SlotGroup {
  readonly commit: NonNullable<StateBinding["commit"]>;
  /** The slot's role in casting. */
  readonly role: InputRole;
  /** Whether a checkpoint contains the slot. */
  readonly isSaved: boolean;
  /** When a checkpoint may have infinities in the slot; NaN never. Undefined where values are not checked. */
  readonly infinities: "never" | "before the first step" | "always" | undefined;
  /** Whether a checkpoint may lack the slot, which then starts as in a new run. */
  readonly isOptional?: true;
}

const weights: SlotGroup = {
  commit: "when-applied",
  role: "parameter",
  isSaved: true,
  infinities: "never",
};
const transactional: SlotGroup = {
  commit: "when-applied",
  role: "state",
  isSaved: true,
  infinities: "before the first step",
};
const steady: SlotGroup = { commit: "always", role: "state", isSaved: true, infinities: undefined };

export type SlotGroupName = keyof TrainingState | "window";

const slotGroups: Readonly<Record<SlotGroupName, SlotGroup>> = {
  master: weights,
  optimizer: transactional,
  model: transactional,
  ema: { ...weights, isOptional: true },
  applied: transactional,
  recipe: { ...transactional, infinities: "never", isOptional: true },
  // Masks may contain infinities.
  frozen: { ...weights, infinities: "always" },
  scaler: steady,
  rates: { ...steady, isOptional: true },
  iteration: steady,
  drawn: steady,
  skipped: steady,
  consecutiveSkips: steady,
  retries: steady,
  // There is no window between calls, so one in a file would be incomplete.
  window: { ...steady, isSaved: false },
};

export function isSlotGroup(name: string): name is SlotGroupName {
  return Object.hasOwn(slotGroups, name);
}

/** The group of a slot, by the first part of its path. */
export function slotGroupName(slot: string): SlotGroupName {
  const [head = ""] = slot.split("/");
  if (!isSlotGroup(head)) throw new Error(`internal: a training state has no ${slot}`);
  return head;
}

export function findSlotGroup(slot: string): SlotGroup {
  return slotGroups[slotGroupName(slot)];
}

/** Whether a checkpoint may lack the slot. Also takes an entry of a file, which need not belong to a group. */
export function isOptionalSlot(slot: string): boolean {
  const [head = ""] = slot.split("/");
  return isSlotGroup(head) && slotGroups[head].isOptional === true;
}

export function isValueType(value: unknown): value is ValueType {
  if (typeof value !== "object" || value === null) return false;
  const candidate = value as { dtype?: unknown; shape?: unknown };
  return typeof candidate.dtype === "string" && Array.isArray(candidate.shape);
}
