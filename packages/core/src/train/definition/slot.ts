import type { SlotGroupName } from "./state.js";

/** The parsed name of a tensor of a run's state. */
export interface Slot {
  readonly group: SlotGroupName;
  /** The objective that the tensor belongs to, in a run with several. */
  readonly objective: string | undefined;
  /** Names within the group, such as `mean` in an optimizer's state or, with groups of parameters, `decayed/mean`. */
  readonly part: readonly string[];
  /** Path of the parameter that the tensor belongs to, if any. */
  readonly path: string | undefined;
}

/** Names that occur in the slots of a run. */
export interface SlotNames {
  readonly objectives: readonly string[];
  readonly paths: ReadonlySet<string>;
}
