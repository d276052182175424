import type { SlotGroupName } from "./state.js";

/** The parsed name of a tensor of a run's state. */
export interface Slot {
  readonly group: SlotGroupName;
  /** The objective that it belongs to, in a run of objectives. */
  readonly objective: string | undefined;
  /** Its names within the group, such as `mean` of an optimizer's state, also in groups of parameters: `decayed/mean`. */
  readonly part: readonly string[];
  /** The parameter that it belongs to. */
  readonly path: string | undefined;
}

/** The parts that the names of a run's slots are made of. */
export interface SlotNames {
  readonly objectives: readonly string[];
  readonly paths: ReadonlySet<string>;
}
