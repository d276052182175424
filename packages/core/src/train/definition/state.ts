import type { InputRole, StateBinding, Tensor, TensorTree, ValueType } from "@mp/graph";

/**
 * All state that a training run keeps between steps, in one tree. `slotGroups` says by top-level key what commits only
 * if the step is applied and what always commits.
 */
export type TrainingState = {
  readonly master: TensorTree;
  readonly optimizer: TensorTree;
  readonly model: TensorTree;
  /** f32: the moving average of the trained weights, in their structure; nothing where none is kept. */
  readonly ema: TensorTree;
  /** i32: applied steps. */
  readonly applied: Tensor;

  /** Parameters that are not trained; no step writes them. */
  readonly frozen: TensorTree;

  readonly scaler: TensorTree;
  /** f32 scalars by group: learning rates that the host sets; no step writes them. */
  readonly rates: Readonly<Record<string, Tensor>>;
  /** i32: iterations, applied or skipped. A retry is the same iteration. */
  readonly iteration: Tensor;
  /**
   * i32: microbatches of those iterations, the counter of all randomness: no two microbatches draw the same numbers,
   * for any `accumulate`.
   */
  readonly drawn: Tensor;
  /** i32: skipped iterations. */
  readonly skipped: Tensor;
  /** i32: skipped in a row, up to now. */
  readonly consecutiveSkips: Tensor;
  /** i32: overflows of the current iteration so far. */
  readonly retries: Tensor;
};

/** Properties decided by the first part of a slot's path. */
interface SlotGroup {
  readonly commit: NonNullable<StateBinding["commit"]>;
  /** Its role in casting. */
  readonly role: InputRole;
  /** Whether a checkpoint contains it. */
  readonly isSaved: boolean;
  /** When infinities are allowed; NaN never is. Undefined where values are not checked. */
  readonly infinities: "never" | "before the first step" | "always" | undefined;
  /** Whether a checkpoint may lack it: it then begins as in a new run. */
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

/** The first part of the slot's path. */
export function slotGroupName(slot: string): SlotGroupName {
  const [head = ""] = slot.split("/");
  if (!isSlotGroup(head)) throw new Error(`internal: a training state has no ${slot}`);
  return head;
}

export function findSlotGroup(slot: string): SlotGroup {
  return slotGroups[slotGroupName(slot)];
}

/** Whether a checkpoint may lack the slot. Also takes an entry of a file, which may be of no group. */
export function isOptionalSlot(slot: string): boolean {
  const [head = ""] = slot.split("/");
  return isSlotGroup(head) && slotGroups[head].isOptional === true;
}

export function isValueType(value: unknown): value is ValueType {
  if (typeof value !== "object" || value === null) return false;
  const candidate = value as { dtype?: unknown; shape?: unknown };
  return typeof candidate.dtype === "string" && Array.isArray(candidate.shape);
}
